// Compiled programs, each made one file with the packages that it loads. To start a Nest
// application is above all to find, read and link two thousand modules: half of the work.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';

/** They read files that lie beside them. */
const LEFT_OUT = [
  '@electric-sql/*',
  '@valkey/valkey-glide',
  'better-sqlite3',
  'libsql',
  'swagger-ui-dist/*',
];

/** By which Nest loads a package unseen by a bundler: it would be a second copy of it. */
const HIDDEN = [
  { find: 'const require = createRequire(import.meta.url);', put: '' },
  {
    find: 'const pkg = await import(packageName);',
    put: `const isOrm = packageName === '@nestjs/typeorm';
      const pkg = await (isOrm ? import('@nestjs/typeorm') : import(packageName));`,
  },
];

/** What is left out may be CommonJS, and is found from the folder of the bundle on. */
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
    // A package that is not installed is missed when it is asked for, as it would be otherwise.
    bundler.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...asked }) => {
      if (pluginData === packages || asked.kind === 'entry-point') return undefined;
      const found = await bundler.resolve(path, { ...asked, pluginData: packages });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

/** @param {readonly string[]} programs paths of ES modules below `from`, and below `folder` then */
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
    // Nest tells providers, and TypeORM tables, by the names of their classes.
    keepNames: true,
    legalComments: 'none',
    // In messages of Node whole lines are shown.
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
