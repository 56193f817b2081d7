// The library packed as `npm publish` would, from a copy of its sources, so that the build neither
// disturbs the working folder nor profits from what lies there.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { ROOT, madeOnce } from './made-once.mjs';

/** What the package is not made from. */
const NOT_PACKED = new RegExp(
  '^(\\.git|\\.github|\\.ci|\\.data|bench|dist|coverage|test|sample-app|site)(/|$)|' +
    '(^|/)node_modules(/|$)|\\.tgz$',
);

/**
 * @returns {Promise<string>} the path of the tarball; beside it is `readable`, its ES modules as
 *   they were before they were minified
 */
export async function packedLibrary() {
  const isPacked = (/** @type {string} */ path) => !NOT_PACKED.test(relative(ROOT, path));
  const sources = readdirSync(ROOT).filter((name) => isPacked(join(ROOT, name)));
  const folder = await madeOnce('packed', sources, (made) => {
    // Not below the sources, of which it would be a part.
    const copy = mkdtempSync(join(tmpdir(), 'nestjs-snowflake-sources-'));
    try {
      cpSync(ROOT, copy, { recursive: true, filter: isPacked });
      withoutTypecheck(join(copy, 'tsconfig.lib.json'));
      symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'dir');
      const options = { cwd: copy, encoding: /** @type {const} */ ('utf8'), env: ownEnvironment() };
      const packed = spawnSync('npm', ['pack', '--pack-destination', made], options);
      if (packed.status !== 0) throw new Error(`npm pack failed:\n${packed.stderr}`);
      cpSync(join(copy, 'dist/readable'), join(made, 'readable'), { recursive: true });
    } finally {
      rmSync(copy, { recursive: true });
    }
  });
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (!tarball) throw new Error('npm pack answered no tarball');
  return join(folder, tarball);
}

/** What is built is the same; `npm run typecheck` has checked it, for half of the time. */
function withoutTypecheck(/** @type {string} */ path) {
  const settings = JSON.parse(readFileSync(path, 'utf8'));
  const compilerOptions = { ...settings.compilerOptions, noCheck: true };
  writeFileSync(path, JSON.stringify({ ...settings, compilerOptions }));
}

/** Without what npm and Jest set for this project. */
function ownEnvironment() {
  const others = /^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$|JEST_|NODE_ENV$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !others.test(name)));
}
