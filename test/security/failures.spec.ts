/**
 * Real servers that refuse a login, a right or a database: whatever is logged, printed, measured or
 * shown of it holds no password, neither the wrong one nor the right one.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { redisError, REFUSALS } from '../../lib/stores/redis/redis-errors.js';
import { redisSupport } from '../../lib/stores/redis/index.js';
import { locksFromUrl } from '../../lib/stores/redis/redis-locks.js';
import { supportFromUrl } from '../../lib/stores/redis/redis.support.js';
import { SnowflakeError, type SnowflakeErrorCode } from '../../lib/errors.js';
import { SupportCaller } from '../../lib/lease/support-caller.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import { systemTimers } from '../../lib/time/timers.js';
import { RedisLab, failureOf, request } from '../stores/redis-lab.js';
import { showApp } from '../dashboard/shown-app.js';
import * as sinks from './sinks.js';

const { SECRET, TRACE } = sinks;
const lab = new RedisLab();
afterAll(() => lab.end());

const LOGIN = `:${encodeURIComponent(SECRET)}@127.0.0.1`;

/** A server or more, and the URL by which it is not to be had. */
const FAILURES: Readonly<Record<string, () => Promise<string>>> = {
  'another password': async () =>
    `redis://${LOGIN}:${(await lab.server('--requirepass', 'right')).port}`,
  'a user who is off': async () => {
    const { port } = await lab.server('--user', 'app', 'off', `>${SECRET}`);
    return `redis://app${LOGIN}:${port}`;
  },
  'a user without rights': async () => {
    const { port } = await lab.server('--user', 'app', 'on', `>${SECRET}`, '~*', '+@all', '-hget');
    return `redis://app${LOGIN}:${port}`;
  },
  'no AUTH at all, so that it is repeated': async () => {
    const args = ['--rename-command', 'AUTH', '', '--rename-command', 'HELLO', ''];
    return `redis://${LOGIN}:${(await lab.server(...args)).port}`;
  },
  'the right password and no room': async () => {
    const { port } = await lab.server('--maxclients', '1');
    await lab.client(port).ping();
    return `redis://${LOGIN}:${port}`;
  },
  'the right password and no such database': async () =>
    `redis://${LOGIN}:${(await lab.server('--requirepass', SECRET)).port}/99`,
  'nobody who listens': async () => `redis://${LOGIN}:1`,
  'no such host': async () => `redis://:${encodeURIComponent(SECRET)}@nowhere.invalid`,
  'a Sentinel that asks for a password': async () => {
    const { port } = await lab.sentinel(1, 'requirepass right');
    return `redis+sentinel://${LOGIN}:${port}/m?sentinelPassword=${encodeURIComponent(SECRET)}`;
  },
  'a Cluster with another password': async () =>
    `redis+cluster://${LOGIN}:${(await lab.clusterNode('--requirepass', 'right')).port}`,
  'TLS that nobody knows': async () => {
    const { port } = await lab.server();
    const hang = (text: string) => (text === '' ? text : 'QUIT\r\n');
    return `rediss://${LOGIN}:${await lab.proxy(port, hang)}`;
  },
};

describe.each(Object.keys(FAILURES))('%s', (name) => {
  it('is told without a password, wherever it is told', async () => {
    const url = await FAILURES[name]!();
    const support = supportFromUrl(url);
    const error = await failureOf(support.getNextWorkId(request()));
    const texts = [await sinks.shownError(error), sinks.shownSupport(support)];
    expect(texts[0]).toContain('STORE_UNAVAILABLE');
    texts.push((await support.advice()).join(), support.location, sinks.shownSupport(support));
    await support.close();
    texts.push(await sinks.shownError(await failureOf(support.workers())));
    const start = showApp({ snowflake: { support: url, startTimeoutMs: 1 } });
    texts.push(await sinks.shownError(await failureOf(start)));
    texts.push(await sinks.shownByCommands(url));
    for (const isJson of [false, true]) {
      texts.push(await sinks.shownByApplication({ support: url }, isJson));
    }
    for (const text of texts) {
      expect(text).not.toContain(TRACE);
      expect(text).not.toMatch(/args: \[|"args":/);
    }
  }, 60_000);
});

it('a given client is not told with its password either', async () => {
  const { port } = await lab.server('--requirepass', 'right');
  const options = { lazyConnect: true, password: SECRET };
  const startup = [{ host: '127.0.0.1', port, password: SECRET }];
  const clients = [
    new Redis(port, options),
    new Redis(`redis://${LOGIN}:${port}`, { lazyConnect: true }),
    new Cluster(startup, { lazyConnect: true, redisOptions: { password: SECRET } }),
  ];
  for (const redis of clients) {
    const support = redisSupport({ redis });
    const error = await failureOf(support.getNextWorkId(request()));
    const texts = [await sinks.shownError(error), sinks.shownSupport(support), support.location];
    for (const text of texts) expect(text).not.toContain(TRACE);
    await support.close();
  }
});

/** What a client may hand over besides its message, at its worst. */
function hostile(message: string): Error {
  const inner = Object.assign(new Error(`${message} ${SECRET}`), {
    name: 'ReplyError',
    command: { name: 'auth', args: ['user', SECRET] },
  });
  return Object.assign(new Error(`${message}, with args beginning with: \`${SECRET}\``), {
    name: 'ReplyError',
    command: { name: 'auth', args: [SECRET] },
    options: { password: SECRET },
    errors: [inner],
    cause: inner,
  });
}

it('what is looked through would show a password, if there were one', async () => {
  const text = await sinks.shownError(new Error('x', { cause: hostile('y') }));
  expect(text.split(TRACE).length).toBeGreaterThan(10);
  const told = await sinks.written(() => console.error(SECRET));
  expect(told + sinks.shownSupport({ inner: { SECRET } })).toContain(TRACE);
  const support = {
    getNextWorkId: () => Promise.reject(hostile('z')),
    refreshAlive: () => Promise.reject(hostile('z')),
    workers: () => Promise.reject(new SnowflakeError('STORE_UNAVAILABLE', SECRET)),
  };
  expect(await sinks.shownByApplication({ support }, true)).toContain(TRACE);
});

it.each(Object.entries(FAILURES))('locks behind %s hold no password', async (_, begin) => {
  const store = locksFromUrl(await begin());
  const locks = new DistributedLock(store, { callTimeoutMs: 1000 });
  const error = await failureOf(locks.tryAcquire('order:7'));
  expect(error.code).toBe('STORE_UNAVAILABLE');
  expect(await sinks.shownError(error)).not.toContain(TRACE);
  expect(inspect([store, locks], { depth: 20, showHidden: true })).not.toContain(TRACE);
  await locks.close();
});

describe('by construction', () => {
  const location = { where: 'h:6379, database 0', db: 0, secrets: [SECRET] };

  it.each(Object.entries(REFUSALS))('the refusal %s holds nothing of its cause', async (_, row) => {
    // Whatever the pattern looks for, it begins with one of its words.
    const said = row.says.source.replaceAll(/[^\w ]+/g, ' ');
    for (const error of [
      redisError(hostile(said), location),
      redisError(new Error('closed'), location, hostile(said)),
      redisError(Object.assign(new Error('x'), { lastNodeError: hostile(said) }), location),
    ]) {
      expect(await sinks.shownError(error)).not.toContain(TRACE);
    }
    expect(row.advice).not.toContain('${');
  });

  it('the error of a support of another maker loses what its client put into it', async () => {
    const caller = new SupportCaller(systemTimers, 1000);
    const thrown = hostile(`connect redis://user:${SECRET}@h failed`);
    const error = await failureOf(caller.call(() => Promise.reject(thrown), { consequence: '' }));
    expect(error.message).toContain('redis://***@h');
    expect(await sinks.shownError(error)).not.toContain(TRACE);
  });

  /** Codes whose messages are made of our own words and numbers; the rest is failed for above. */
  const OWN_WORDS: Readonly<Partial<Record<SnowflakeErrorCode, string>>> = {
    LEASE_LOST: 'states and times',
    VERSION_MISMATCH: 'the number that the registry is kept by',
    NO_WORKER_FREE: 'a time',
    CLOCK_UNUSABLE: 'times',
    SEQUENCE_SPENT: 'numbers of the layout',
    SEGMENT_SPENT: 'the name of a counter, and the message of a failure that is one of these',
    COUNTER_ABSENT: 'the name of a counter and the place of its store',
    COUNTER_MISMATCH: 'the same, and the form that is stored',
    COUNTER_FULL: 'the same',
    TIME_EXHAUSTED: 'a date',
    ID_INVALID: 'an id, which is no secret',
    ARGUMENT_INVALID: 'a number, a field or a date',
    LAYOUT_MISMATCH: 'fingerprints',
    LOCK_HELD: 'the name of a lock and the label of its holder',
    LOCK_LOST: 'the name of a lock and a token',
    LOCK_REENTERED: 'the name of a lock',
  };
  /** Codes that the failures here and the pasted URLs were seen to have. */
  const SHOWN: readonly SnowflakeErrorCode[] = ['CONFIG_INVALID', 'NOT_READY', 'STORE_UNAVAILABLE'];

  it('every code is failed with here, or has a reason not to be', () => {
    const source = readFileSync('lib/errors.ts', 'utf8');
    const [, list] = /type SnowflakeErrorCode =(.*?);\n/s.exec(source) ?? [];
    const codes = [...(list ?? '').matchAll(/'([A-Z_]+)'/g)].map(([, code]) => code);
    expect(codes.length).toBeGreaterThan(5);
    expect(new Set([...Object.keys(OWN_WORDS), ...SHOWN])).toEqual(new Set(codes));
    expect(new SnowflakeError('NOT_READY', '')).toBeInstanceOf(Error);
  });
});
