/**
 * Every option and every parameter of a URL with every wrong value: it is refused with a message
 * that names it, or it is on the list of what may be; nothing else is thrown, and no password is
 * shown. The options are those of the reference, which is compared with the types, and the
 * parameters those that the messages themselves name.
 */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { resolveGuardOptions } from '../../lib/api-keys/guard/guard-options.js';
import { etcdSupport } from '../../lib/backends/etcd/index.js';
import { MemoryCounters, MemoryLocks } from '../../lib/backends/memory/index.js';
import { redisCounters, redisIds, redisSupport } from '../../lib/backends/redis/index.js';
import { generatorOf, locksOf } from '../../lib/backends/schemes.js';
import { sqlSupport } from '../../lib/backends/sql/index.js';
import { segments } from '../../lib/counters/index.js';
import { resolveDashboardOptions } from '../../lib/dashboard/dashboard-options.js';
import type { GeneratorSurroundings } from '../../lib/generator-kind.js';
import { DistributedLock } from '../../lib/lock/holding/distributed-lock.js';
import { lockOf } from '../../lib/nest/lock/lock-module-options.js';
import { resolveOptions } from '../../lib/nest/options.js';
import { systemTimers } from '../../lib/patience/timers.js';
import { rowsOf } from '../docs/markdown.js';
import { ROOT } from '../tidy/tree.js';
import { TRACE, shownError } from './sinks.js';
import { WRONG_TEXTS, WRONG_VALUES } from './wrong-values.js';

interface Door {
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
const AS_SWITCH = ['true', 'false'];
const AS_DIGITS = ['a number as text'];

const surroundings: GeneratorSurroundings = {
  application: 'test',
  clock: { now: () => 0 },
  timers: systemTimers,
  callTimeoutMs: 2000,
  startTimeoutMs: 30_000,
  random: Math.random,
} as never;
const DOORS: readonly Door[] = [
  {
    title: 'option',
    names: inTable('option'),
    use: (name, value) => {
      const base = ['support', 'generator'].includes(name) ? {} : { workerId: 7 };
      return resolveOptions({ ...base, [name]: value } as never, true);
    },
    right: {
      support: ['a URL of a store'],
      supports: [
        'an object',
        'an object without a prototype',
        'an invalid Date',
        'a URL object',
        'a promise',
      ],
      workerId: ['zero'],
      workerFields: ['an object', 'an object without a prototype'],
      epoch: ['zero'],
      reserveMs: ['zero'],
      startTimeoutMs: ['zero'],
      aheadMsMax: ['zero'],
      lazy: AS_SWITCH,
      sharesLease: AS_SWITCH,
      application: TEXTS,
    },
  },
  {
    title: 'lock option',
    names: inTable('lock option'),
    use: given(lockOf, { locks: 'memory:' }),
    right: {
      locks: ['a URL of a store'],
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
    use: given(resolveGuardOptions, {
      prefix: 'shop',
      secrets: { a: 'abcdefghijklmnopqrstuvwxyz0123456789' },
    }),
    right: {
      prefix: AS_WORD,
      header: [...AS_WORD, 'a number as text', 'a number with a unit', 'a hexadecimal number'],
      find: AS_FUNCTION,
      isRevoked: AS_FUNCTION,
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
    },
  },
  {
    title: 'etcd option',
    names: inTable('etcd option'),
    use: given(etcdSupport, { endpoints: ['http://127.0.0.1:1'] }),
    right: {
      namespace: [
        ...AS_NAME.filter((name) => !/control|file|URL/.test(name)),
        'a variable that nobody filled in',
      ],
      failoverWindowMs: ['zero'],
      clockDifferenceMs: ['zero'],
    },
  },
  {
    title: 'SQL option',
    names: inTable('SQL option'),
    use: given(sqlSupport, { query: async () => [], dialect: 'postgres' }),
    right: {
      namespace: AS_NAME.filter((name) => name !== 'a control character'),
      table: [...AS_WORD, 'the name of a prototype'],
      replicated: AS_SWITCH,
      failoverWindowMs: ['zero'],
      clockDifferenceMs: ['zero'],
      serverSql: textsBut(...BLANK),
    },
  },
  {
    title: 'segment option',
    names: inTable('segment option'),
    use: (name, value) => {
      const store = name === 'stores' ? {} : { store: new MemoryCounters() };
      return segments({ counter: 'a', ...store, [name]: value } as never).open(surroundings);
    },
    right: {
      counter: textsBut(...BLANK, 'a control character'),
      startAt: ['zero', 'seconds where ms are meant', 'a bigint', ...AS_FUNCTION],
      stepMin: [],
      stepMax: [],
      skip: ['seconds where ms are meant', 'a bigint'],
    },
  },
  {
    title: 'Redis id option',
    names: inTable('Redis id option'),
    use: (name, value) =>
      redisIds({ redis: 'redis://127.0.0.1:1', tag: 'a', [name]: value }).open(surroundings),
    right: {
      redis: ['a URL of a store', 'a list with a URL in it'],
      tag: textsBut(...BLANK, 'a control character'),
      namespace: AS_NAME,
      prefix: ['empty', ...AS_NAME],
      lossWindowMs: ['zero'],
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
    },
  },
  {
    title: 'dashboard option',
    names: ['guards', 'path'],
    use: given(resolveDashboardOptions, { guards: 'global' }),
    right: {
      path: AS_NAME.filter((name) => !/control|quotes|URL/.test(name)),
    },
  },
];

const openGenerator = async (url: string) => (await generatorOf(url)).open(surroundings);
/** With room for a failover of 60 s. */
const startWith = (support: string) => resolveOptions({ support, leaseTtlMs: 600_000 }, true);

/** Of each scheme one URL, and of what is kept there. */
const URLS: readonly (readonly [url: string, use: (url: string) => unknown])[] = [
  ['redis://127.0.0.1:1/0', startWith],
  ['redis+sentinel://127.0.0.1:1/m', startWith],
  ['redis+cluster://127.0.0.1:1', startWith],
  ['etcd://127.0.0.1:1', startWith],
  ['postgres://127.0.0.1:1/a', startWith],
  ['mysql://127.0.0.1:1/a', startWith],
  ['sqlite:./a.db', startWith],
  ['redis://127.0.0.1:1/0', locksOf],
  ['etcd://127.0.0.1:1', locksOf],
  ['postgres://127.0.0.1:1/a', locksOf],
  ['segments+redis://127.0.0.1:1/0?counter=a&', openGenerator],
  ['segments+postgres://127.0.0.1:1/a?counter=a&', openGenerator],
  ['redis-ids+redis://127.0.0.1:1/0?tag=a&', openGenerator],
];

async function refusalOf(use: () => unknown): Promise<unknown> {
  try {
    const made = (await use()) as { close?: () => unknown; support?: { close?: () => unknown } };
    await (made?.support ?? made)?.close?.();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** What is wrong with a refusal, in words; undefined where nothing is. */
async function oddityOf(error: unknown, named: RegExp): Promise<string | undefined> {
  const { code, message } = error as Error & { code?: string };
  if (!/^(CONFIG|ARGUMENT)_INVALID$/.test(String(code))) return `threw ${String(error)}`;
  if (!named.test(message)) return `did not name it: ${message}`;
  return (await shownError(error)).includes(TRACE) ? `showed a password: ${message}` : undefined;
}

async function judged(
  values: Readonly<Record<string, unknown>>,
  use: (value: unknown) => unknown,
  named: RegExp,
): Promise<{ taken: string[]; odd: string[] }> {
  const taken: string[] = [];
  const odd: string[] = [];
  for (const [what, value] of Object.entries(values)) {
    const error = await refusalOf(() => use(value));
    if (error === undefined) taken.push(what);
    const fault = error === undefined ? undefined : await oddityOf(error, named);
    if (fault !== undefined) odd.push(`${what}: ${fault}`);
  }
  return { taken, odd };
}

describe.each(DOORS)('of each $title', ({ names, use, right }) => {
  it.each(names)(
    '%s is refused where it is wrong, in words and without a password',
    async (name) => {
      // What a URL, a list of fields or several options are wrong in has names of its own.
      const named = new RegExp(`${name}|URL|field|exclude`);
      const { taken, odd } = await judged(WRONG_VALUES, (value) => use(name, value), named);
      expect({ odd, taken: taken.toSorted() }).toEqual({
        odd: [],
        taken: [...(right[name] ?? [])].toSorted(),
      });
    },
  );
});

describe.each(URLS)('in %s', (url, use) => {
  const start = url.endsWith('&') ? url : `${url}?`;

  it('each parameter is refused where it is wrong, in words and without a password', async () => {
    const { message } = (await refusalOf(() => use(`${start}unknown=1`))) as Error;
    const known = / known are ([\w, ]+)[.;]/.exec(message)![1]!.split(', ');
    expect(known.length).toBeGreaterThan(2);
    const found: Record<string, string[]> = {};
    for (const name of known) {
      const { taken, odd } = await judged(
        WRONG_TEXTS,
        (value) => use(`${start}${name}=${encodeURIComponent(String(value))}`),
        new RegExp(`${name}|namespace`),
      );
      expect([name, odd]).toEqual([name, []]);
      found[name] = taken;
    }
    for (const name of known.filter((one) => one.endsWith('Ms'))) {
      expect([name, found[name]]).toEqual([name, AS_DIGITS]);
    }
  });
});
