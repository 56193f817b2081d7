// The library as its users run it: packed as `npm publish` would, compiled for threads and other
// processes, and bundled with its dependencies. Each is built once per version of the sources.
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, relative } from 'node:path';
import { build } from 'esbuild';
import { ROOT, madeOnce } from './made-once.mjs';

// Packed from a copy of the sources, so the build neither changes the working folder nor depends on
// untracked content there.

const NOT_PACKED = new RegExp(
  '^(\\.git|\\.github|\\.ci|\\.data|bench|dist|coverage|test|sample-app|site)(/|$)|' +
    '(^|/)node_modules(/|$)|\\.tgz$',
);

/**
 * @returns {Promise<string>} the path of the tarball; next to it, `readable` has its ES modules
 * before they were minified
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
 * @returns {Promise<string>} the tarball of that commit's sources, built by the current tools
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
  // Outside the sources, because it must not contain itself.
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
  if (status !== 0) throw new Error(`A build failed:\n${error?.message ?? String(stderr)}`);
  return stdout;
}

/** Skips the type check, which takes half of the time; `npm run typecheck` covers it. */
function withoutTypecheck(/** @type {string} */ path) {
  const settings = JSON.parse(readFileSync(path, 'utf8'));
  const compilerOptions = { ...settings.compilerOptions, noCheck: true };
  writeFileSync(path, JSON.stringify({ ...settings, compilerOptions }));
}

/** Without the variables that npm and Jest set for this project. */
function ownEnvironment() {
  const others = /^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$|JEST_|NODE_ENV$)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !others.test(name)));
}

// Compiled to one module per file, in a folder of this project. A thread or another process can run
// it without Jest, and finds its packages.

const COMPILED_FROM = ['lib', 'package.json', 'tsconfig.json', 'tsconfig.lib.json'];

/** @returns {Promise<string>} a package that contains only the compiled library, in dist/esm */
export function compiledLibrary() {
  return madeOnce('library', COMPILED_FROM, (folder) => {
    const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
    const into = ['-p', 'tsconfig.lib.json', '--outDir', join(folder, 'dist', 'esm')];
    const args = [tsc, ...into, '--declaration', 'false', '--noCheck'];
    succeeded(spawnSync(process.execPath, args, { cwd: ROOT, env: ownEnvironment() }));
    copyFileSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
  });
}

/** A new folder with the library as `lib`, next to a copy of the script of test/ to run. */
export async function compileLibrary(/** @type {string} */ script) {
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data', 'threads-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  await putTogether(folder, script);
  return folder;
}

async function putTogether(/** @type {string} */ folder, /** @type {string} */ script) {
  const library = await compiledLibrary();
  symlinkSync(join(library, 'dist', 'esm'), join(folder, 'lib'), 'dir');
  copyFileSync(join(ROOT, 'test', script), join(folder, basename(script)));
}

// Bundled: a compiled program with its packages in one file. Many processes can start quickly,
// because most of a Nest start is finding, reading, and linking two thousand modules.

export const BUNDLER = 'test/support/builds.mjs';

/** The path of a script of test/ bundled with its imports. */
export async function bundledScript(/** @type {string} */ script) {
  const name = basename(script, '.mjs');
  const sources = [...COMPILED_FROM, 'package-lock.json', BUNDLER, `test/${script}`];
  const folder = await madeOnce(name, sources, async (made) => {
    const parts = join(made, 'parts');
    mkdirSync(parts);
    await putTogether(parts, script);
    await bundleInto(made, parts, [basename(script)]);
  });
  return join(folder, `${name}.js`);
}

/** These packages read files next to their own. */
const LEFT_OUT = [
  '@electric-sql/*',
  '@valkey/valkey-glide',
  'better-sqlite3',
  'libsql',
  'swagger-ui-dist/*',
];

/**
 * Nest loads a package by this function, which a bundler cannot see. It would load a second copy.
 */
const HIDDEN = [
  { find: 'const require = createRequire(import.meta.url);', put: '' },
  {
    find: 'const pkg = await import(packageName);',
    put: `const isOrm = packageName === '@nestjs/typeorm';
      const pkg = await (isOrm ? import('@nestjs/typeorm') : import(packageName));`,
  },
];

/** An external package may be CommonJS, and is resolved from the folder of the bundle. */
const REQUIRE = `import { createRequire as requireFrom } from 'node:module';
const require = requireFrom(import.meta.url);`;

/** @type {import('esbuild').Plugin} */
const packages = {
  name: 'packages',
  setup(bundler) {
    bundler.onLoad({ filter: /\/node_modules\/@nestjs\/.*\.js$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      return { contents: HIDDEN.reduce((all, { find, put }) => all.replace(find, put), text) };
    });
    // A missing package causes an error only when it is used, as without a bundle.
    bundler.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...asked }) => {
      if (pluginData === packages || asked.kind === 'entry-point') return undefined;
      const found = await bundler.resolve(path, { ...asked, pluginData: packages });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

/** @param {readonly string[]} programs paths of ES modules below `from`, bundled to `folder` */
export async function bundleInto(
  /** @type {string} */ folder,
  /** @type {string} */ from,
  programs,
) {
  await build({
    banner: { js: REQUIRE },
    bundle: true,
    entryPoints: programs.map((path) => join(from, path)),
    external: LEFT_OUT,
    format: 'esm',
    // Nest identifies providers, and TypeORM tables, by class names.
    keepNames: true,
    legalComments: 'none',
    // Node prints whole lines in its messages.
    lineLimit: 200,
    logLevel: 'error',
    minifyWhitespace: true,
    outbase: from,
    outdir: folder,
    platform: 'node',
    plugins: [packages],
    target: 'node20',
  });
}
