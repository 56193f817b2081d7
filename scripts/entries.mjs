// The entries of the package: what users import, and the file of lib behind it. A new entry is a
// line here and `npm run build:entries`, which writes it into package.json and tsconfig.json; Jest,
// the build and the tests read the table itself. A test compares the files with it.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** In the order of package.json; paths are below lib, without their ending. */
export const ENTRIES = {
  '.': 'index',
  './core': 'core/index',
  './store': 'store',
  './redis': 'stores/redis/index',
  './host': 'stores/host/index',
  './etcd': 'stores/etcd/index',
  './sql': 'stores/sql/index',
  './segments': 'nest/segments/index',
  './redis-ids': 'nest/redis-ids/index',
  './api-keys': 'api-keys/index',
  './lock': 'nest/lock/index',
  './typeorm': 'orm/typeorm/index',
  './prisma': 'orm/prisma/index',
  './drizzle': 'orm/drizzle/index',
  './testing': 'testing/index',
  './http': 'http/index',
  './swagger': 'http/swagger',
  './class-validator': 'http/class-validator',
  './class-transformer': 'http/class-transformer',
  './zod': 'http/zod',
  './graphql': 'http/graphql',
  './health': 'health/index',
  './metrics': 'metrics/index',
  './dashboard': 'dashboard/index',
};

const pathsByEntry = Object.entries(ENTRIES);

/** As an import names it. */
const importOf = (/** @type {string} */ entry) => `nestjs-snowflake${entry.slice(1)}`;

/** @type {Readonly<Record<string, string>>} from the name of an import to a file of lib */
export const ENTRY_FILES = Object.fromEntries(
  pathsByEntry.map(([entry, path]) => [importOf(entry), `lib/${path}.ts`]),
);

const built = (/** @type {string} */ format, /** @type {string} */ path) =>
  `./dist/${format}/${path}.js`;
const typesOf = (/** @type {string} */ module) => module.replace(/\.js$/, '.d.ts');

/**
 * Node of today gives require() the ES module too, so that a process has one copy. TypeScript finds
 * the types beside each module.
 */
const conditions = (/** @type {string} */ path) => ({
  'module-sync': built('esm', path),
  import: built('esm', path),
  require: built('cjs', path),
});

/** The text of package.json with the entries in it. */
export function packageWithEntries(/** @type {string} */ text) {
  const root = built('cjs', ENTRIES['.']);
  const exports = Object.fromEntries(pathsByEntry.map(([entry, p]) => [entry, conditions(p)]));
  // For the module resolution of TypeScript that knows no exports.
  const named = pathsByEntry.filter(([entry]) => entry !== '.');
  const types = named.map(([entry, path]) => [entry.slice(2), [typesOf(built('cjs', path))]]);
  const manifest = {
    ...JSON.parse(text),
    main: root,
    types: typesOf(root),
    exports: { ...exports, './package.json': './package.json' },
    typesVersions: { '*': Object.fromEntries(types) },
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

/** The text of tsconfig.json with the entries in it. */
export function tsconfigWithEntries(/** @type {string} */ text) {
  const lines = Object.entries(ENTRY_FILES).map(([name, path]) => `      "${name}": ["./${path}"]`);
  return text.replace(/"paths": \{[^}]*\}/, () => `"paths": {\n${lines.join(',\n')}\n    }`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const write = (/** @type {string} */ name, /** @type {(text: string) => string} */ change) => {
    const path = new URL(`../${name}`, import.meta.url);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  };
  write('package.json', packageWithEntries);
  write('tsconfig.json', tsconfigWithEntries);
}
