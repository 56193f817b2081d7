/**
 * The doors by which options come in, and what each option may be among the values that people give
 * by mistake.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Counter, Gauge, Registry } from 'prom-client';
import { layouts, LeaseWindow, publicIds, SnowflakeGenerator } from '../../lib/core/index.js';
import { ApiKeys } from '../../lib/api-keys/index.js';
import { SnowflakeDashboardModule } from '../../lib/dashboard/index.js';
import type { GeneratorEnvironment } from '../../lib/generator.js';
import { healthFaults } from '../../lib/health/health-report.js';
import { IsSnowflakeId, IsSnowflakeIds } from '../../lib/http/class-validator.js';
import { snowflakeScalar } from '../../lib/http/graphql.js';
import { ParseSnowflakePipe } from '../../lib/http/index.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import { registerPrometheusMetrics } from '../../lib/metrics/index.js';
import { lockedFaults } from '../../lib/nest/lock/locked.decorator.js';
import { openLocks } from '../../lib/nest/lock/open-locks.js';
import { startRedisIds } from '../../lib/nest/redis-ids/index.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { series, startSegments } from '../../lib/nest/segments/index.js';
import { refuse } from '../../lib/options.js';
import { snowflakeIds } from '../../lib/orm/prisma/index.js';
import { SnowflakeId } from '../../lib/orm/typeorm/index.js';
import { etcdLocks, etcdSupport } from '../../lib/stores/etcd/index.js';
import { folderSupport, ordinalSupport, privateAddress } from '../../lib/stores/host/index.js';
import { MemoryCounters, MemoryLocks, MemorySupport } from '../../lib/stores/memory/index.js';
import { redisCounters, redisLocks, redisSupport } from '../../lib/stores/redis/index.js';
import { gaplessSeries, sqlCounters, sqlLocks, sqlSupport } from '../../lib/stores/sql/index.js';
import { fakeIdMaker } from '../../lib/testing/index.js';
import { systemTimers } from '../../lib/time/timers.js';
import { rowsOf } from '../docs/sections.js';
import { ROOT } from '../tidy/tree.js';
import { TRACE } from './sinks.js';
/*
 * Values that people give by mistake, each with a password in it where it has room for one.
 */

const URL_WITH_PASSWORD = `redis://:${TRACE}@127.0.0.1:1/0`;

/** Texts as they come from an environment, a file or another field of a form. */
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
  'a variable that nobody filled in': '${VALUE}',
  'a number as text': '60000',
  'a number with a unit': '60s',
  'a hexadecimal number': '0x10',
  'what every object has': 'constructor',
  'the name of a prototype': '__proto__',
  'a control character': 'a\u0007b',
  'a path that is a file': fileURLToPath(import.meta.url),
};

/** Undefined is none of them: it is an option that is left out. */
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
  readonly names: readonly string[];
  readonly use: (name: string, value: unknown) => unknown;
  /** What may be, by option. */
  readonly right: Readonly<Record<string, readonly string[]>>;
}

const reference = readFileSync(`${ROOT}/docs/reference/options.md`, 'utf8');
const inTable = (title: string) => [...rowsOf(reference, title).keys()];
/** Takes the options; closes what it opened. */
const given = (take: (options: never) => unknown, base: object) => (name: string, value: unknown) =>
  take({ ...base, [name]: value } as never);

const TEXTS = Object.keys(WRONG_TEXTS);
const textsBut = (...names: readonly string[]) => TEXTS.filter((text) => !names.includes(text));
const BLANK = ['empty', 'a blank', 'a tab and a line break'];
/** What a name of something may be: another one than was meant, and a name. */
const AS_NAME = textsBut(...BLANK, 'a variable that nobody filled in');
const AS_WORD = ['the word undefined', 'the word null', 'what every object has'];
const AS_FUNCTION = ['a function', 'a function that throws'];
const AS_OBJECT = [
  'an object',
  'an object without a prototype',
  'an invalid Date',
  'a URL object',
  'a promise',
];
const AS_SWITCH = ['true', 'false'];
export const AS_DIGITS = ['a number as text'];

export const environment: GeneratorEnvironment = {
  application: 'test',
  clock: { now: () => 0 },
  timers: systemTimers,
  callTimeoutMs: 2000,
  startTimeoutMs: 30_000,
  random: Math.random,
} as never;
/** As every store in SQL takes them. */
const SQL: Door['right'] = {
  namespace: AS_NAME.filter((name) => name !== 'a control character'),
  table: [...AS_WORD, 'the name of a prototype'],
  replicated: AS_SWITCH,
  failoverWindowMs: ['zero'],
  clockDifferenceMs: ['zero'],
  serverSql: textsBut(...BLANK),
};
/** As every store in etcd takes them. */
const ETCD: Door['right'] = {
  namespace: [
    ...AS_NAME.filter((name) => !/control|file|URL/.test(name)),
    'a variable that nobody filled in',
  ],
  failoverWindowMs: ['zero'],
  clockDifferenceMs: ['zero'],
};
/** Without blanks and control characters, as nameFaults() has it. */
const AS_NAMED = textsBut(...BLANK, 'a control character');
const AS_SERIES = AS_NAMED.filter((name) => !/URL|file/.test(name));
const INVOICES = { name: 'invoice', period: 'day', timeZone: 'UTC', form: 'I-{date}-{000}' };
const IDS = { status: { kind: 'lease', state: 'active', readAt: new Date(0) } };
const PROM = { register: new Registry(), Gauge, Counter } as never;

const LAYOUT = layouts.snowflake();
/** The options of a preset besides its epoch. */
const PRESET_BITS: Readonly<Record<string, readonly string[]>> = {
  ich: ['workIdLength'],
  tsid: ['nodeBits'],
  yitter: ['workerIdBitLength', 'seqBitLength'],
};
const CHECKS = ['form', 'layout', 'notInFuture', 'futureMsMax', 'workerId', 'clock'];
const CHECKED: Door['right'] = { notInFuture: AS_SWITCH, workerId: ['zero'] };
/** For tests alone. */
const KEY = Uint8Array.from({ length: 16 }, (_, at) => at);

export const DOORS: readonly Door[] = [
  {
    title: 'option',
    names: inTable('option'),
    use: (name, value) => {
      const base = ['support', 'generator'].includes(name) ? {} : { workerId: 7 };
      return resolveOptions({ ...base, [name]: value } as never, true);
    },
    right: {
      support: ['a URL of a store'],
      supports: [...AS_OBJECT],
      workerId: ['zero'],
      workerFields: ['an object', 'an object without a prototype'],
      epoch: ['zero'],
      reserveMs: ['zero'],
      startTimeoutMs: ['zero'],
      aheadMsMax: ['zero'],
      lazy: AS_SWITCH,
      sharesLease: AS_SWITCH,
      application: TEXTS,
      onWorkerIdChange: AS_FUNCTION,
    },
  },
  {
    title: 'lock option',
    names: inTable('lock option'),
    use: given(openLocks, { locks: 'memory:' }),
    right: {
      locks: ['a URL of a store'],
      cron: [...AS_OBJECT, 'bytes', 'the options of a client'],
      drainMs: ['zero'],
      application: TEXTS,
      random: AS_FUNCTION,
    },
  },
  {
    title: 'hold option',
    names: inTable('hold option'),
    use: given((options) => new DistributedLock(new MemoryLocks()).tryAcquire('a', options), {}),
    right: { waitMs: ['zero'], holdAtLeastMs: ['zero'] },
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
      // Of no letter.
      secrets: AS_OBJECT,
      // 32 characters of any kind.
      pepper: ['a URL in quotes', 'a path that is a file'],
    },
  },
  {
    title: 'Redis option',
    names: inTable('Redis option'),
    use: given(redisSupport, { redis: 'redis://127.0.0.1:1' }),
    right: {
      redis: ['a URL of a store'],
      namespace: AS_NAME,
      prefix: ['empty', ...AS_NAME],
      failoverWindowMs: ['zero'],
      clockDifferenceMs: ['zero'],
      keepsWrites: AS_SWITCH,
    },
  },
  {
    title: 'etcd option',
    names: inTable('etcd option'),
    use: given(etcdSupport, { endpoints: ['http://127.0.0.1:1'] }),
    right: ETCD,
  },
  {
    title: 'etcd lock option',
    names: inTable('etcd option'),
    use: given(etcdLocks, { endpoints: ['http://127.0.0.1:1'] }),
    right: ETCD,
  },
  {
    title: 'SQL option',
    names: inTable('SQL option'),
    use: given(sqlSupport, { query: async () => [], dialect: 'postgres' }),
    right: SQL,
  },
  {
    title: 'segment option',
    names: inTable('segment option'),
    use: (name, value) => {
      const store = name === 'stores' ? {} : { store: new MemoryCounters() };
      return startSegments({ counter: 'a', ...store, lazy: true, [name]: value } as never);
    },
    right: {
      store: ['a URL of a store'],
      stores: ['a list with a URL in it'],
      counter: textsBut(...BLANK, 'a control character'),
      startAt: ['zero', 'seconds where ms are meant', 'a bigint', ...AS_FUNCTION],
      stepMin: [],
      stepMax: [],
      lossGap: ['seconds where ms are meant', 'a bigint'],
    },
  },
  {
    title: 'Redis id option',
    names: inTable('Redis id option'),
    use: (name, value) =>
      startRedisIds({ redis: 'redis://127.0.0.1:1', tag: 'a', lazy: true, [name]: value }),
    right: {
      redis: ['a URL of a store', 'a list with a URL in it'],
      tag: textsBut(...BLANK, 'a control character'),
      namespace: AS_NAME,
      prefix: ['empty', ...AS_NAME],
      lossWindowMs: ['zero'],
      keepsWrites: AS_SWITCH,
    },
  },
  {
    title: 'Redis counter option',
    names: inTable('Redis counter option'),
    use: given(redisCounters, { redis: 'redis://127.0.0.1:1' }),
    right: {
      redis: ['a URL of a store'],
      namespace: AS_NAME,
      prefix: ['empty', ...AS_NAME],
      lossWindowMs: ['zero'],
      keepsWrites: AS_SWITCH,
    },
  },
  {
    title: 'Redis lock option',
    names: inTable('Redis counter option'),
    use: given(redisLocks, { redis: 'redis://127.0.0.1:1' }),
    right: {
      redis: ['a URL of a store'],
      namespace: AS_NAME,
      prefix: ['empty', ...AS_NAME],
      lossWindowMs: ['zero'],
      keepsWrites: AS_SWITCH,
    },
  },
  {
    title: 'SQL counter option',
    names: inTable('SQL option'),
    use: given(sqlCounters, { query: async () => [], dialect: 'postgres' }),
    right: SQL,
  },
  {
    title: 'SQL lock option',
    names: inTable('SQL option'),
    use: given(sqlLocks, { query: async () => [], dialect: 'postgres' }),
    right: SQL,
  },
  {
    title: 'folder option',
    names: ['folder', 'namespace', 'clock'],
    use: given(folderSupport, { folder: './never-made' }),
    right: {
      folder: [
        'a number as text',
        'a number with a unit',
        'a hexadecimal number',
        'what every object has',
        'the name of a prototype',
        'a path that is a file', // which its file system tells when it is used
      ],
      namespace: [
        'a number as text',
        'a number with a unit',
        'a hexadecimal number',
        'what every object has',
        'the word undefined',
        'the word null',
      ],
    },
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
    names: ['namespace', 'rows', 'clock'],
    use: given((options: object) => new MemorySupport(options as never), {}),
    right: { namespace: AS_NAMED },
  },
  {
    title: 'option of counters in memory',
    names: ['clock'],
    use: given((options: object) => new MemoryCounters(options as never), {}),
    right: {},
  },
  {
    title: 'series option',
    names: [
      'store',
      'lossGap',
      'callTimeoutMs',
      'timers',
      'name',
      'period',
      'timeZone',
      'form',
      'clock',
    ],
    use: given(series, { store: new MemoryCounters(), ...INVOICES }),
    right: { lossGap: ['a bigint', 'seconds where ms are meant'], name: AS_SERIES },
  },
  {
    title: 'option of a series without gaps',
    names: ['table', 'name', 'period', 'timeZone', 'form', 'clock'],
    use: given(gaplessSeries, INVOICES),
    right: { table: SQL['table']!, name: AS_SERIES },
  },
  {
    title: 'health option',
    names: ['generator', 'leaseMsMin'],
    use: given((options: object) => refuse(healthFaults(options)), {}),
    right: { generator: AS_NAMED, leaseMsMin: ['zero'] },
  },
  {
    title: 'option of what is measured',
    names: ['name', 'ids', 'support', 'workersEveryMs'],
    use: given((one: object) => registerPrometheusMetrics(PROM, [one as never]), { ids: IDS }),
    right: { name: AS_NAMED },
  },
  {
    title: 'option of metrics',
    names: ['registry'],
    use: given((options: object) => registerPrometheusMetrics(PROM, [], options), {}),
    right: {},
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
    names: ['aheadMsMax', 'sequenceStart', 'clock', 'random'],
    use: given((options: object) => new SnowflakeGenerator(new LeaseWindow(LAYOUT), options), {}),
    right: { aheadMsMax: ['zero'], random: AS_FUNCTION },
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
    names: ['ttlMs', 'waitMs', 'holdAtLeastMs', 'holdAtMostMs', 'onHeld'],
    use: given((options) => refuse(lockedFaults({ key: 'a', options }, 'here')), {}),
    right: { waitMs: ['zero'], holdAtLeastMs: ['zero'] },
  },
  {
    title: 'pipe option',
    names: [...CHECKS, 'as', 'forms', 'optional'],
    use: given((options: object) => new ParseSnowflakePipe(options), { layout: LAYOUT }),
    right: { ...CHECKED, optional: AS_SWITCH, forms: ['a list'] },
  },
  {
    title: 'option of @IsSnowflakeId',
    names: CHECKS,
    use: given((options: object) => IsSnowflakeId(options), { layout: LAYOUT }),
    right: CHECKED,
  },
  {
    title: 'option of @IsSnowflakeIds',
    names: [...CHECKS, 'countMin', 'countMax'],
    use: given((options: object) => IsSnowflakeIds(options), { layout: LAYOUT }),
    right: { ...CHECKED, countMin: ['zero'], countMax: ['zero', 'seconds where ms are meant'] },
  },
  {
    title: 'scalar option',
    names: [...CHECKS, 'name'],
    use: given((options: object) => snowflakeScalar(options), { layout: LAYOUT }),
    right: { ...CHECKED, name: [...AS_WORD, 'the name of a prototype'] },
  },
  {
    title: 'option of @SnowflakeId',
    names: ['type', 'primary', 'generator'],
    use: given((options: object) => SnowflakeId(options)({}, 'id'), {}),
    right: { primary: AS_SWITCH, generator: AS_NAMED },
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
