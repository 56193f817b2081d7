// Which spec files `npm run test:quick` leaves out: those that need a server, a browser or a build,
// told by what they and the files they import name, and those that attack or show for longer than
// anybody wants to wait between two changes.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const NEEDS_SERVER =
  /\b(REDIS_URL|DATABASE_URL|MYSQL_URL|CHROMIUM)\b|\/scripts\/servers\/|'ioredis-6'/;
const NEEDS_BUILD = /\b(compileLibrary|compileProgram|BuiltShop|packLibrary)\b/;

/** Whole fleets, every mutant, and applications that are asked over HTTP for their own sake. */
const SLOW = new RegExp(
  '^test/((package|simulation|model|dashboard|metrics|http|health|sample-app)/|' +
    'contract/broken-supports)',
);

/** @param {string} root @returns {string[]} paths relative to it */
export function leftOut(root) {
  const specs = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.spec.ts') && !path.includes('/consumers/'));
  return specs.filter((path) => SLOW.test(path) || needsMore(join(root, path))).toSorted();
}

/** @param {string} path @param {Set<string>} seen */
function needsMore(path, seen = new Set()) {
  if (seen.has(path)) return false;
  seen.add(path);
  const text = readFileSync(path, 'utf8');
  if (NEEDS_SERVER.test(text) || NEEDS_BUILD.test(text)) return true;
  return testFilesNamedIn(text, path).some((file) => needsMore(file, seen));
}

/** Only those of test/: the library asks nobody for an environment. */
function testFilesNamedIn(/** @type {string} */ text, /** @type {string} */ path) {
  return [...text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)]
    .map(([, named = '']) => resolve(dirname(path), named))
    .flatMap((file) => [file, file.replace(/\.js$/, '.ts')])
    .filter((file) => /\/test\//.test(file) && existsSync(file));
}
