/**
 * The entry points for options, and the accepted values of each option among common mistakes.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Counter, Gauge, Registry } from 'prom-client';
import { GENERATOR } from '../../lib/core/generator/snowflake-generator.js';
import { IDS } from '../../lib/counters/ids/store-ids-options.js';
import { SEGMENTS } from '../../lib/counters/segments/segment-options.js';
import { SERIES } from '../../lib/counters/series/series.js';
import { layouts, LeaseWindow, publicIds, SnowflakeGenerator } from '../../lib/core/index.js';
import { ApiKeys } from '../../lib/api-keys/index.js';
import { SnowflakeDashboardModule } from '../../lib/dashboard/index.js';
import type { GeneratorEnvironment } from '../../lib/generator.js';
import { HEALTH } from '../../lib/health/health-report.js';
import { CHECKS, LIST_CHECKS } from '../../lib/http/check-id.js';
import { IsSnowflakeId, IsSnowflakeIds } from '../../lib/http/class-validator.js';
import { snowflakeScalar } from '../../lib/http/graphql.js';
import { ParseSnowflakePipe } from '../../lib/http/index.js';
import { PIPE } from '../../lib/http/parse-snowflake.pipe.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import { HOLD } from '../../lib/lock/lock-options.js';
import { registerPrometheusMetrics } from '../../lib/metrics/index.js';
import { MEASURED } from '../../lib/metrics/metric.js';
import { LOCKED_OPTIONS, lockedFaults } from '../../lib/nest/lock/locked.decorator.js';
import { LOCK_MODULE, openLocks } from '../../lib/nest/lock/open-locks.js';
import { startRedisIds } from '../../lib/nest/redis-ids/index.js';
import { MODULE_OPTIONS, resolveOptions } from '../../lib/nest/resolve-options.js';
import { series, startSegments } from '../../lib/nest/segments/index.js';
import { later, optionFaults, refuse, type Row } from '../../lib/options.js';
import { snowflakeIds } from '../../lib/orm/prisma/index.js';
import { SnowflakeId } from '../../lib/orm/typeorm/index.js';
import { ETCD } from '../../lib/stores/etcd/etcd-options.js';
import { etcdLocks, etcdSupport } from '../../lib/stores/etcd/index.js';
import { FOLDER } from '../../lib/stores/host/folder.support.js';
import { folderSupport, ordinalSupport, privateAddress } from '../../lib/stores/host/index.js';
import { MEMORY } from '../../lib/stores/memory/memory.support.js';
import { MemoryCounters, MemoryLocks, MemorySupport } from '../../lib/stores/memory/index.js';
import { HASH } from '../../lib/stores/redis/redis-options.js';
import { REDIS } from '../../lib/stores/redis/redis.support.js';
import { redisCounters, redisLocks, redisSupport } from '../../lib/stores/redis/index.js';
import { GAPLESS } from '../../lib/stores/sql/gapless-series.js';
import { SQL } from '../../lib/stores/sql/sql-options.js';
import { gaplessSeries, sqlCounters, sqlLocks, sqlSupport } from '../../lib/stores/sql/index.js';
import { fakeIdMaker } from '../../lib/testing/index.js';
import { systemTimers } from '../../lib/time/timers.js';
import { rowsOf } from '../docs/sections.js';
import { ROOT } from '../tidy/tree.js';
import { TRACE } from './sinks.js';
/*
 * Common mistakes, each with a password in it if the type has room for one.
 */

const URL_WITH_PASSWORD = `redis://:${TRACE}@127.0.0.1:1/0`;

/** Strings from an environment, a file, or another form field. */
export const WRONG_TEXTS: Readonly<Record<string, string>> = {
  empty: '',
  'a blank': ' ',
  'a tab and a line break': '\t\n',
  'the word undefined': 'undefined',
  'the word null': 'null',
  'in quotes': '"60000"',
  'a URL of a store': URL_WITH_PASSWORD,
  'a URL of another server': `amqp://user:${TRACE}@host`,
  'a URL in quotes': `"${URL_WITH_PASSWORD}"`,
  'an unset variable': '${VALUE}',
  'a number as text': '60000',
  'a number with a unit': '60s',
  'a hexadecimal number': '0x10',
  'what every object has': 'constructor',
  'the name of a prototype': '__proto__',
  'a control character': 'a\u0007b',
  'a path that is a file': fileURLToPath(import.meta.url),
};

/** Undefined is not included: it means that the option is omitted. */
export const WRONG_VALUES: Readonly<Record<string, unknown>> = {
  ...WRONG_TEXTS,
  zero: 0,
  'below zero': -1,
  'a fraction': 1.5,
  'seconds where ms are meant': 1_704_067_200,
  'beyond every bound': 1e21,
  NaN,
  Infinity,
  '-Infinity': -Infinity,
  'a bigint': 60_000n,
  'a bigint below zero': -1n,
  true: true,
  false: false,
  null: null,
  'a list': [],
  'a list with a URL in it': [URL_WITH_PASSWORD],
  'an object': {},
  'the options of a client': { host: 'h', password: TRACE, url: URL_WITH_PASSWORD },
  'an object without a prototype': Object.create(null),
  'an invalid Date': new Date(NaN),
  'a URL object': new URL(URL_WITH_PASSWORD),
  bytes: Buffer.from(URL_WITH_PASSWORD),
  'a function': () => undefined,
  'a function that throws': () => {
    throw new Error(`of ${URL_WITH_PASSWORD}`);
  },
  'a promise': Promise.resolve(1),
  'a symbol': Symbol(TRACE),
};

export interface Door {
  readonly title: string;
  /** The entries of the table by default. */
  readonly names?: readonly string[];
  readonly table?: object;
  readonly use: (name: string, value: unknown) => unknown;
  /** The accepted values by option, unless its table row states them. */
  readonly right?: Readonly<Record<string, readonly string[]>>;
}

const reference = readFileSync(`${ROOT}/docs/reference/options.md`, 'utf8');
const inTable = (title: string) => [...rowsOf(reference, title).keys()];
/** Passes the options; closes everything that it opened. */
const given = (take: (options: never) => unknown, base: object) => (name: string, value: unknown) =>
  take({ ...base, [name]: value } as never);

const TEXTS = Object.keys(WRONG_TEXTS);
const textsBut = (...names: readonly string[]) => TEXTS.filter((text) => !names.includes(text));
const BLANK = ['empty', 'a blank', 'a tab and a line break'];
/** Accepted names: a valid name, even if it is not the intended name. */
const AS_NAME = textsBut(...BLANK, 'an unset variable');
const AS_WORD = ['the word undefined', 'the word null', 'what every object has'];
const AS_FUNCTION = ['a function', 'a function that throws'];
const AS_OBJECT = [
  'an object',
  'an object without a prototype',
  'an invalid Date',
  'a URL object',
  'a promise',
];
export const AS_DIGITS = ['a number as text'];

export const environment: GeneratorEnvironment = {
  application: 'test',
  clock: { now: () => 0 },
  timers: systemTimers,
  callTimeoutMs: 2000,
  startTimeoutMs: 30_000,
  random: Math.random,
} as never;
/** Together with another option, or only with https. */
const ETCD_RIGHT = { username: [], password: [], tls: [] };
/** Without blanks and control characters, as in nameFaults(). */
const AS_NAMED = textsBut(...BLANK, 'a control character');
const INVOICES = { name: 'invoice', period: 'day', timeZone: 'UTC', form: 'I-{date}-{000}' };
const IDS_OF = { status: { kind: 'lease', state: 'active', readAt: new Date(0) } };
const PROM = { register: new Registry(), Gauge, Counter } as never;

const LAYOUT = layouts.snowflake();
/** The options of a preset besides its epoch. */
const PRESET_BITS: Readonly<Record<string, readonly string[]>> = {
  ich: ['workIdLength'],
  tsid: ['nodeBits'],
  yitter: ['workerIdBitLength', 'seqBitLength'],
};
/** Of this layout, and without `notInFuture`. */
const CHECKED: Door['right'] = { workerId: ['zero'], futureMsMax: [] };
/** Only for tests. */
const KEY = Uint8Array.from({ length: 16 }, (_, at) => at);

export const DOORS: readonly Door[] = [
  {
    title: 'option',
    table: MODULE_OPTIONS,
    use: (name, value) => {
      const base = name === 'support' ? {} : { workerId: 7 };
      return resolveOptions({ ...base, [name]: value } as never, true);
    },
    right: {
      support: ['a URL of a store'],
      supports: [...AS_OBJECT],
      workerId: ['zero'],
      workerFields: ['an object', 'an object without a prototype'],
      epoch: ['zero'],
    },
  },
  {
    title: 'lock option',
    table: LOCK_MODULE,
    use: given(openLocks, { locks: 'memory:' }),
    right: { locks: ['a URL of a store'] },
  },
  {
    title: 'hold option',
    table: HOLD,
    use: given((options) => new DistributedLock(new MemoryLocks()).tryAcquire('a', options), {}),
  },
  {
    title: 'API key option',
    names: inTable('API key option'),
    use: given((options) => new ApiKeys(options), {
      prefix: 'shop',
      secrets: { a: 'abcdefghijklmnopqrstuvwxyz0123456789' },
    }),
    right: {
      prefix: AS_WORD,
      // Without a letter.
      secrets: AS_OBJECT,
      // 32 characters of any kind.
      pepper: ['a URL in quotes', 'a path that is a file'],
    },
  },
  {
    title: 'Redis option',
    table: REDIS,
    use: given(redisSupport, { redis: 'redis://127.0.0.1:1' }),
    right: { redis: ['a URL of a store'] },
  },
  {
    title: 'etcd option',
    table: ETCD,
    use: given(etcdSupport, { endpoints: ['http://127.0.0.1:1'] }),
    right: ETCD_RIGHT,
  },
  {
    title: 'etcd lock option',
    table: ETCD,
    use: given(etcdLocks, { endpoints: ['http://127.0.0.1:1'] }),
    right: ETCD_RIGHT,
  },
  ...[sqlSupport, sqlCounters, sqlLocks].map((make) => ({
    title: `option of ${make.name}`,
    names: inTable('SQL option'),
    table: SQL,
    use: given(make as never, { query: async () => [], dialect: 'postgres' }),
  })),
  {
    title: 'segment option',
    table: SEGMENTS,
    use: (name, value) => {
      const store = name === 'stores' ? {} : { store: new MemoryCounters() };
      return startSegments({ counter: 'a', ...store, lazy: true, [name]: value } as never);
    },
    right: {
      store: ['a URL of a store'],
      stores: ['a list with a URL in it'],
      startAt: ['zero', 'seconds where ms are meant', 'a bigint', ...AS_FUNCTION],
    },
  },
  {
    title: 'Redis id option',
    names: inTable('Redis id option'),
    table: { ...IDS, ...HASH },
    use: (name, value) =>
      startRedisIds({ redis: 'redis://127.0.0.1:1', tag: 'a', lazy: true, [name]: value }),
    right: { redis: ['a URL of a store', 'a list with a URL in it'] },
  },
  ...[redisCounters, redisLocks].map((make) => ({
    title: `option of ${make.name}`,
    table: HASH,
    use: given(make as never, { redis: 'redis://127.0.0.1:1' }),
    right: { redis: ['a URL of a store'] },
  })),
  {
    title: 'folder option',
    table: FOLDER,
    use: given(folderSupport, { folder: './never-made' }),
  },
  {
    title: 'host name option',
    names: ['hostname', 'of'],
    use: (name, value) => {
      const given = { hostname: 'shop-3', [name]: value } as never;
      const support = ordinalSupport(given) as object as Partial<IDistributedSupport>;
      if (support.getNextWorkId) return support.getNextWorkId({} as never);
      return resolveOptions({ support, leaseTtlMs: 600_000 } as never, true);
    },
    right: { of: ['a URL of a store'] },
  },
  {
    title: 'private address option',
    names: ['bits', 'interface', 'interfaces'],
    use: given(privateAddress, {}),
    right: {
      interface: TEXTS.filter((text) => text !== 'empty'),
      interfaces: [...AS_OBJECT, 'a list', ...AS_FUNCTION],
    },
  },
  {
    title: 'memory option',
    table: MEMORY,
    use: given((options: object) => new MemorySupport(options as never), {}),
  },
  {
    title: 'option of counters in memory',
    names: ['clock'],
    use: given((options: object) => new MemoryCounters(options as never), {}),
  },
  {
    title: 'series option',
    table: SERIES,
    use: given(series, { store: new MemoryCounters(), ...INVOICES }),
  },
  {
    title: 'option of a series without gaps',
    table: GAPLESS,
    use: given(gaplessSeries, INVOICES),
  },
  {
    title: 'health option',
    table: HEALTH,
    use: given((options: object) => refuse(optionFaults(options, HEALTH, 'isHealthy()')), {}),
  },
  {
    title: 'option of what is measured',
    table: MEASURED,
    use: given((one: object) => registerPrometheusMetrics(PROM, [one as never]), { ids: IDS_OF }),
  },
  {
    title: 'option of metrics',
    names: ['registry'],
    use: given((options: object) => registerPrometheusMetrics(PROM, [], options), {}),
  },
  {
    title: 'dashboard option',
    names: ['guards', 'path'],
    use: given((options) => SnowflakeDashboardModule.forRoot(options), { guards: 'global' }),
    right: {
      path: AS_NAME.filter((name) => !/control|quotes|URL/.test(name)),
    },
  },
  ...Object.entries(layouts).map(([preset, make]) => ({
    title: `preset ${preset}`,
    names: ['epoch', ...(PRESET_BITS[preset] ?? [])],
    use: given(make as never, {}),
    right: { epoch: ['zero'] },
  })),
  {
    title: 'generator option',
    table: GENERATOR,
    use: given((options: object) => new SnowflakeGenerator(new LeaseWindow(LAYOUT), options), {}),
  },
  {
    title: 'public id option',
    names: ['prefix', 'key', 'keys', 'writeKey'],
    use: given(publicIds, { prefix: 'ord', key: KEY, keys: { a: KEY } }),
    right: {
      prefix: AS_WORD,
      keys: ['a list', ...AS_OBJECT],
      writeKey: ['empty'],
    },
  },
  {
    title: 'option of @Locked',
    table: LOCKED_OPTIONS,
    use: given((options) => refuse(lockedFaults({ key: 'a', options }, 'here')), {}),
  },
  {
    title: 'pipe option',
    table: PIPE,
    use: given((options: object) => new ParseSnowflakePipe(options), { layout: LAYOUT }),
    right: { ...CHECKED, forms: ['a list'] },
  },
  {
    title: 'option of @IsSnowflakeId',
    table: CHECKS,
    use: given((options: object) => IsSnowflakeId(options), { layout: LAYOUT }),
    right: CHECKED,
  },
  {
    title: 'option of @IsSnowflakeIds',
    table: LIST_CHECKS,
    use: given((options: object) => IsSnowflakeIds(options), { layout: LAYOUT }),
    // No list has a minimum of 1,704,067,200 IDs and a maximum of 10,000.
    right: { ...CHECKED, countMin: ['zero'] },
  },
  {
    title: 'scalar option',
    names: [...Object.keys(CHECKS), 'name'],
    table: CHECKS,
    use: given((options: object) => snowflakeScalar(options), { layout: LAYOUT }),
    right: { ...CHECKED, name: [...AS_WORD, 'the name of a prototype'] },
  },
  {
    title: 'option of @SnowflakeId',
    names: ['type', 'primary', 'generator'],
    use: given((options: object) => SnowflakeId(options)({}, 'id'), {}),
    right: { primary: ['true', 'false'], generator: AS_NAMED },
  },
  {
    title: 'option of snowflakeIds',
    names: ['generator'],
    use: given((options: object) => snowflakeIds(options), {}),
    right: { generator: AS_NAMED },
  },
  {
    title: 'option of fakeIdMaker',
    names: ['from', 'layout'],
    use: given((options: object) => fakeIdMaker(options), {}),
    right: { from: ['zero', 'seconds where ms are meant', 'a bigint'] },
  },
];

export const namesOf = ({ names, table }: Door): readonly string[] => names ?? Object.keys(table!);

/** The invalid values that an option accepts, by its row. */
export function rightOf({ table = {}, right = {} }: Door, name: string): readonly string[] {
  const [check = later] = (table as Readonly<Record<string, Row>>)[name] ?? [];
  if (right[name] !== undefined || check === later) return right[name] ?? [];
  const taken = Object.entries(WRONG_VALUES).filter(([, value]) => check(name, value).length === 0);
  return taken.map(([what]) => what);
}
