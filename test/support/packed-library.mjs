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
  return tarballIn(
    await madeOnce('packed', sources, (made) =>
      packInto(made, (copy) => cpSync(ROOT, copy, { recursive: true, filter: isPacked })),
    ),
  );
}

/**
 * @param {string} ref a commit, branch or tag of this repository
 * @returns {Promise<string>} the tarball of the sources as they were then, built by the tools of
 *   today
 */
export async function packedAt(ref) {
  const options = { cwd: ROOT, maxBuffer: 2 ** 30 };
  const commit = succeeded(spawnSync('git', ['rev-parse', '--verify', `${ref}^{commit}`], options));
  const name = `packed-at-${String(commit).trim()}`;
  return tarballIn(
    await madeOnce(name, [], (made) =>
      packInto(made, (copy) => {
        const sources = succeeded(spawnSync('git', ['archive', ref], options));
        succeeded(spawnSync('tar', ['-x', '-C', copy], { input: sources }));
      }),
    ),
  );
}

/** @param {string} made the folder for it @param {(copy: string) => unknown} copySources */
function packInto(made, copySources) {
  // Not below the sources, of which it would be a part.
  const copy = mkdtempSync(join(tmpdir(), 'nestjs-snowflake-sources-'));
  try {
    copySources(copy);
    withoutTypecheck(join(copy, 'tsconfig.lib.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'), 'dir');
    const options = { cwd: copy, env: ownEnvironment() };
    succeeded(spawnSync('npm', ['pack', '--pack-destination', made], options));
    cpSync(join(copy, 'dist/readable'), join(made, 'readable'), { recursive: true });
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function tarballIn(/** @type {string} */ folder) {
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz'));
  if (!tarball) throw new Error('npm pack answered no tarball');
  return join(folder, tarball);
}

/** @param {import('node:child_process').SpawnSyncReturns<Buffer>} command */
function succeeded({ status, stdout, stderr, error }) {
  if (status !== 0) throw new Error(`Packing failed:\n${error?.message ?? String(stderr)}`);
  return stdout;
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
