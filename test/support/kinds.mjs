// The kind of each spec file. Each kind is a Jest project that can run alone by `npm test --
// --selectProjects stores`, and starts only the servers that its files name. A kind follows from
// its folder, or from the names in a spec and in its imports from test/.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Sequencer from '@jest/test-sequencer';

/** The variables that locate a server or a browser. */
const STORE =
  /\b(REDIS_URL|VALKEY_URL|DATABASE_URL|MYSQL_URL|ETCD_URL)\b|\/scripts\/servers\/|'ioredis-6'/;
const BROWSER = /\bCHROMIUM\b/;
const BUILD = /\b(compileLibrary|compiledLibrary|bundledScript|BuiltShop|packedLibrary)\b/;

const WHOLE = new RegExp(
  '^test/(package/|sample-app/|chaos/cron-fleets|cli/(moves|partitions|program)|docs/snippets|' +
    'lock/(etcd-lock-cluster|fencing)|metrics/procedures|nest/bullmq|orm/(by-number|prisma/prisma)|' +
    'segments/several-stores|stores/regions)',
);
const CLIENTS =
  /^test\/(contract\/embedded-sql|stores\/(redis-clients|redis-client-options|ioredis-6))\./;
const PROOF = new RegExp(
  '^test/(contract/broken-supports|cron/schedule-fuzz|lease/invariants|lock/lock-agreement|' +
    'mutants|proof|registry/fleets|simulation/)',
);
/** The base of everything else, and usual targets of change: commands, metrics, documents. */
const QUICK = /^test\/(cli|core|docs|lease|metrics|nest|registry|tidy|transcripts)\//;
/** Slow specs of these folders, which a small change seldom breaks. */
const RUNS = new RegExp(
  '^test/(cli/(ids|sql)|docs/pictures|lease/(regions|supports)|metrics/(open|prom)|' +
    'nest/(lifecycle|lock)|registry/(rows|store-move)|tidy/exported)',
);

/**
 * @typedef {'e2e' | 'clients' | 'proof' | 'stores' | 'quick' | 'thorough'} Kind
 * @typedef {{ path: string, texts: readonly string[] }} Spec with its own text and those of its imports
 * @typedef {{ kind: Kind, isSlow?: true, isOf: (spec: Spec) => boolean }} KindRule
 * @type {readonly KindRule[]} the first match applies
 */
const KINDS = [
  // The package as installed by users, every block of the documents, the sample app, the command
  // line, and Prisma. Also clusters, replicas and regions as processes, 100,000 sections under locks,
  // partitions, queues, and pages in a real browser.
  { kind: 'e2e', isSlow: true, isOf: (spec) => WHOLE.test(spec.path) || names(BROWSER)(spec) },
  // The store contracts again, by each Redis client and each SQLite.
  { kind: 'clients', isSlow: true, isOf: ({ path }) => CLIENTS.test(path) },
  // Simulated fleets, the agreement of Lua and TypeScript rules, and broken rules that fleets,
  // contracts, and the solver must detect.
  { kind: 'proof', isSlow: true, isOf: ({ path }) => PROOF.test(path) },
  // Redis, Valkey, PostgreSQL, MariaDB and etcd.
  { kind: 'stores', isOf: names(STORE) },
  // The inner loop: half a minute without servers.
  { kind: 'quick', isOf: (spec) => isQuick(spec.path) && !names(BUILD)(spec) },
  // The other specs without servers.
  { kind: 'thorough', isOf: () => true },
];

/** `npm test` without arguments leaves these to `npm run test:slow`. */
export const SLOW = KINDS.filter(({ isSlow }) => isSlow).map(({ kind }) => kind);

function isQuick(/** @type {string} */ path) {
  return QUICK.test(path) && !RUNS.test(path);
}

/** @returns {(spec: Spec) => boolean} */
function names(/** @type {RegExp} */ word) {
  return ({ texts }) => texts.some((text) => word.test(text));
}

/** @returns {Record<Kind, string[]>} paths relative to the root, by kind */
export function specsByKind(/** @type {string} */ root) {
  const specs = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((path) => `test/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.spec.ts') && !path.includes('/consumers/'))
    .toSorted()
    .map((path) => ({ path, texts: textsOf(join(root, path)) }));
  const kindOf = (/** @type {Spec} */ spec) => KINDS.find(({ isOf }) => isOf(spec))?.kind;
  return /** @type {Record<Kind, string[]>} */ (
    Object.fromEntries(
      KINDS.map(({ kind }) => [
        kind,
        specs.filter((spec) => kindOf(spec) === kind).map(({ path }) => path),
      ]),
    )
  );
}

/** The text of a spec and of its imports in test/; the library itself reads no environment. */
function textsOf(/** @type {string} */ spec) {
  // The test of this file contains the names that it searches for.
  if (/\/test\/support\//.test(spec)) return [];
  const texts = new Map([[spec, '']]);
  for (const path of texts.keys()) {
    const text = readFileSync(path, 'utf8');
    texts.set(path, text);
    for (const [, named = ''] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const file = resolve(dirname(path), named);
      const found = [file, file.replace(/\.js$/, '.ts')].find((one) => existsSync(one));
      if (found !== undefined && /\/test\//.test(found) && !texts.has(found)) texts.set(found, '');
    }
  }
  return [...texts.values()];
}

/** The specs of a kind that match the requested path parts, or all specs. */
export function specsOf(
  /** @type {string} */ root,
  /** @type {Kind} */ kind,
  /** @type {readonly string[]} */ wanted = [],
) {
  const specs = specsByKind(root)[kind];
  const isWanted = (/** @type {string} */ path) => wanted.some((part) => path.match(part));
  return wanted.length === 0 ? specs : specs.filter((path) => isWanted(join(root, path)));
}

/** @returns {string[]} the variables that these specs name */
export function variablesOf(/** @type {string} */ root, /** @type {readonly string[]} */ specs) {
  const all = specs.flatMap((path) => textsOf(join(root, path))).join('\n');
  const known = ['REDIS_URL', 'VALKEY_URL', 'DATABASE_URL', 'MYSQL_URL', 'ETCD_URL', 'CHROMIUM'];
  return known.filter((variable) => new RegExp(`\\b${variable}\\b`).test(all));
}

// The order of the spec files: longest first, so that the run does not end with a long one.

/** The longest specs in order. Jest remembers durations, but not in a fresh clone. */
export const LONGEST = [
  'test/simulation/simulation.spec.ts',
  'test/package/package.spec.ts',
  'test/chaos/cron-fleets.spec.ts',
  'test/site/site.spec.ts',
  'test/package/taken-over-typeorm.spec.ts',
  'test/package/taken-over-prisma.spec.ts',
  'test/package/newcomers.spec.ts',
  'test/package/recipes.spec.ts',
  'test/cli/moves.spec.ts',
  'test/cli/moves-interrupted.spec.ts',
  'test/registry/fleets.spec.ts',
  'test/lock/lock-rules.spec.ts',
  'test/contract/broken-supports.spec.ts',
  'test/stores/redis-client-options.spec.ts',
  'test/stores/redis-clients.spec.ts',
  'test/lock/fencing.spec.ts',
  'test/sample-app/sample-app.spec.ts',
  'test/contract/embedded-sql.spec.ts',
  'test/contract/servers.spec.ts',
  'test/segments/several-stores.spec.ts',
  'test/dashboard/access.spec.ts',
  'test/lock/etcd-lock-cluster.spec.ts',
  'test/lock/etcd-locks.spec.ts',
  'test/stores/sql-functions.spec.ts',
  'test/cli/program.spec.ts',
  'test/stores/ioredis-6.spec.ts',
  'test/site/chinese.spec.ts',
  'test/cli/commands.spec.ts',
  'test/package/runtimes.spec.ts',
  'test/lock/sql-locks.spec.ts',
  'test/nest/bullmq.spec.ts',
  'test/orm/prisma/prisma.spec.ts',
  'test/docs/snippets.spec.ts',
  'test/stores/folder.spec.ts',
  'test/security/failures.spec.ts',
  'test/contract/row-store.spec.ts',
];

export default class LongFirst extends Sequencer {
  /** @param {import('@jest/test-result').Test[]} tests */
  sort(tests) {
    return super.sort(tests).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

/** @returns {number} equal for all other specs, which keep their order */
function placeOf(/** @type {import('@jest/test-result').Test} */ { path }) {
  const location = LONGEST.findIndex((spec) => path.endsWith(`/${spec}`));
  return location === -1 ? LONGEST.length : location;
}
