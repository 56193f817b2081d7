/**
 * The refusals of real servers, each recognized and with its own advice. The last test fails for a
 * refusal without a sample.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals';
import type { Redis } from 'ioredis';
import { ClientLife, SILENCE_MS } from '../../lib/stores/redis/client-life.js';
import { IOREDIS } from '../../lib/stores/redis/clients/ioredis.js';
import { redisCounters, redisSupport } from '../../lib/stores/redis/index.js';
import { clientFromUrl, locationOfUrl } from '../../lib/stores/redis/redis-client.js';
import { RedisConnection } from '../../lib/stores/redis/redis-connection.js';
import { redisError, type RefusalName, REFUSALS } from '../../lib/stores/redis/redis-errors.js';
import { parseRedisUrl } from '../../lib/stores/redis/redis-url.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { MuteProxy } from './network.js';
import { type Failure, failureOf, held, RedisLab, request, until } from './redis-lab.js';

describe('redis refusals', () => {
  const lab = new RedisLab();
  const seen = new Set<unknown>();
  afterAll(() => lab.end());

  async function refused(redis: string): Promise<Failure> {
    const error = await failureOf(lab.support({ redis, namespace: 'n' }).getNextWorkId(request()));
    seen.add(error.details['refusal']);
    return error;
  }

  const KEY = 'snowflake:{n}:registry';

  describe('a Redis that refuses', () => {
    it.each(['+hget', '+hset', '+time', '+hmget', '+evalsha'])(
      'lacks the right %s in scripts or elsewhere, which an operator must grant',
      async (right) => {
        const { port } = await lab.server();
        const rights = ['+eval', '+evalsha', '+hget', '+hmget', '+hset', '+hdel', '+time', '+info'];
        const given = rights.filter((name) => name !== right);
        const name = ['ACL', 'SETUSER', 'app', 'on', '>pw', '~*'] as const;
        await lab.client(port).call(...name, ...given);
        const asked = () => refused(`redis://app:pw@127.0.0.1:${port}`);
        let error = await asked();
        // A busy machine can delay a script for the 5 s after which Redis answers BUSY.
        while (error.details['refusal'] === 'not-ready') error = await asked();
        expect(error).toMatchObject({ retryable: false, details: { refusal: 'permission' } });
        expect(error.message).toContain('lacks a permission');
      },
    );

    it('refuses access to the key', async () => {
      const { port } = await lab.server();
      await lab.client(port).call('ACL', 'SETUSER', 'app', 'on', '>pw', '~other', '+@all');
      const error = await refused(`redis://app:pw@127.0.0.1:${port}`);
      expect(error).toMatchObject({ retryable: false, details: { refusal: 'permission' } });
    });

    // Each uses its own connection. The refusal and the answer to INFO may arrive together or
    // separately.
    it('accepts any client without a password, but none with a wrong one', async () => {
      const { port } = await lab.server();
      const all = Array.from({ length: 30 }, () => refused(`redis://app:wrong@127.0.0.1:${port}`));
      for (const error of await Promise.all(all)) {
        expect(error).toMatchObject({ retryable: false, details: { refusal: 'wrong-password' } });
      }
    });

    it('holds another type under the key', async () => {
      const { port, url } = await lab.server();
      await lab.client(port).set(KEY, 'a text');
      expect(await refused(url)).toMatchObject({
        retryable: false,
        details: { refusal: 'wrong-type' },
      });
    });

    it.each(['EVALSHA', 'HMGET', 'TIME'])('does not support %s', async (command) => {
      const { url } = await lab.server('--rename-command', command, '');
      expect(await refused(url)).toMatchObject({
        retryable: false,
        details: { refusal: 'unknown-command' },
      });
    });

    it('is a Cluster node that does not serve the key', async () => {
      const { port } = await lab.server('--cluster-enabled', 'yes');
      expect(await refused(`redis://127.0.0.1:${port}`)).toMatchObject({
        retryable: true,
        details: { refusal: 'not-ready' },
      });
      expect(told('NOSERVER INFO names no run_id')).toMatchObject({ retryable: false });
      expect(told('MOVED 866 127.0.0.1:7001')).toMatchObject({ retryable: false });
    });

    it('accepts no more clients', async () => {
      const { port, url } = await lab.server('--maxclients', '1');
      const only = lab.client(port);
      await only.ping();
      // A client may or may not receive the reason before its connection ends.
      const { retryable, details } = await refused(url);
      expect(retryable).toBe(true);
      expect(['too-many-clients', 'unreachable']).toContain(details['refusal']);
      expect(told('Ready check failed: ERR max number of clients reached').message).toContain(
        REFUSALS['too-many-clients'].advice,
      );
    });

    it('requires replicas that are missing', async () => {
      const { url } = await lab.server('--min-replicas-to-write', '1');
      expect(await refused(url)).toMatchObject({
        retryable: true,
        details: { refusal: 'too-few-replicas' },
      });
    });

    it.each([
      ['forbids INFO', ['--user', 'app', 'on', '>pw', '~*', '+@all', '-info']],
      [
        'has no INFO',
        ['--rename-command', 'INFO', '', '--user', 'app', 'on', '>pw', '~*', '+@all'],
      ],
    ])('reports %s, of which the message prints nothing', async (_, args) => {
      const { port } = await lab.server(...args);
      const warned = jest.spyOn(console, 'warn');
      const given = lab.client(port, { username: 'app', password: 'pw', lazyConnect: true });
      for (const redis of [`redis://app:pw@127.0.0.1:${port}`, given]) {
        const support = lab.support({ redis, keepsWrites: true });
        expect(await support.getNextWorkId(request())).toMatchObject({ status: 'ok' });
      }
      expect(warned.mock.calls).toEqual([]);
      warned.mockRestore();
    });

    it('uses a longer sentence before version 7', () => {
      const script = 'ERR Error running script (call to f_ab12): @user_script:17: ';
      expect(told(`${script}WRONGTYPE Operation against a key`).message).toContain(
        'data of another kind',
      );
      expect(told(`${script}-OOM command not allowed`).message).toContain('maxmemory');
      expect(told('ERR something new')).toMatchObject({
        retryable: true,
        details: { refusal: 'unexpected' },
      });
    });
  });

  describe('advice', () => {
    it('mentions a missing right only if a right is missing', async () => {
      const { port, url, stop } = await lab.server(
        '--user',
        'app',
        'on',
        '>pw',
        '~*',
        '+@all',
        '-info',
      );
      const forbidden = lab.support({ redis: `redis://app:pw@127.0.0.1:${port}` });
      expect((await forbidden.advice()).join()).toContain('may not run INFO');
      await stop();
      const [text, ...more] = await lab.support({ redis: url }).advice();
      expect(text).toContain('ECONNREFUSED');
      expect(text).not.toContain('ACL SETUSER');
      expect(more).toEqual([]);
    });
  });

  /** Refusals that need several servers or a large one, or that another spec covers. */
  const SAID: Readonly<Partial<Record<RefusalName, string>>> = {
    'sentinel-login': 'All sentinels are unreachable and retry is disabled. Last error: NOAUTH x',
    'no-password': 'NOAUTH Authentication required.',
    'wrong-password': 'WRONGPASS invalid username-password pair or user is disabled.',
    database: 'ERR DB index is out of range script: 3d92afd9, on @user_script:1.',
    'unknown-server': 'NOSERVER INFO names no run_id and no master_replid',
    'not-durable': 'NOFILE the append-only file is off',
    'new-file': 'NEWFILE a rewrite of the append-only file is due',
    'no-cluster': 'ERR This instance has cluster support disabled',
    'no-sentinel': "All sentinels are unreachable. Last error: ERR unknown command 'sentinel'",
    'no-redis': 'Protocol error, got "H" as reply type byte. Please report this.',
    'no-tls-port': 'no TLS connection within 1500 ms',
    'cluster-node': 'MOVED 866 127.0.0.1:7001',
    'protected-mode': 'DENIED Redis is running in protected mode because',
    replica: "READONLY You can't write against a read only replica.",
    'out-of-memory': "OOM command not allowed when used memory > 'maxmemory'.",
    disk: 'MISCONF Redis is configured to save RDB snapshots',
    'too-many-clients': 'ERR max number of clients reached',
    tls: 'unable to verify the first certificate',
    unreachable: 'connect ETIMEDOUT 127.0.0.1:1',
  };

  /** The error of the client, not of the server. */
  const NO_REPLIES = 'sentinel-login no-sentinel no-redis no-tls-port tls unreachable';

  function told(message: string, name = 'ReplyError') {
    const error = Object.assign(new Error(message), { name });
    return redisError(error, { where: 'h:6379, database 0', db: 0, secrets: [] });
  }

  it('every refusal has a sample and is the first that matches it', () => {
    for (const [name, message] of Object.entries(SAID)) {
      const isReply = !NO_REPLIES.includes(name);
      const error = told(message, isReply ? 'ReplyError' : 'Error');
      expect(error.details).toMatchObject({ refusal: name });
      expect(error.message).toContain(REFUSALS[name as RefusalName].advice);
      seen.add(name);
    }
    expect(seen).toEqual(new Set(Object.keys(REFUSALS)));
  });

  it('nobody is sent to look for another server where nothing listens', () => {
    const { message, details } = told('connect ECONNREFUSED 127.0.0.1:1', 'Error');
    expect(details).toMatchObject({ refusal: 'unreachable' });
    expect(message).toMatch(/can be reached from this host\.$/);
  });
});

/*
 * The users in docs/guides/redis.md, for worker IDs and for counters. The rights of each are enough
 * for its use, and each of them is necessary.
 */
describe('redis permissions', () => {
  const GUIDE = readFileSync('docs/guides/redis.md', 'utf8');
  const LINES = [...GUIDE.matchAll(/^ACL SETUSER (\S+) (.*)$/gm)];
  const RIGHTS = new Map(LINES.map(([, user, rights]) => [user!, rights!.split(' ')]));

  const lab = new RedisLab();
  let admin: Redis;
  let port: number;
  beforeAll(async () => {
    ({ port } = await lab.server('--appendonly', 'yes'));
    admin = lab.client(port);
  });
  afterAll(() => lab.end());

  /** Performs every operation of a use, and fails if one is forbidden. */
  type Use = (redis: string) => Promise<unknown>;

  async function workerIds(redis: string): Promise<unknown> {
    const support = redisSupport({ redis, namespace: 'shop' });
    try {
      const asked = request({ ttlMs: 1000 });
      const lease = held(asked, await support.getNextWorkId(asked));
      await support.refreshAlive(lease);
      await support.workers();
      await support.release(lease, undefined);
      return await support.advice();
    } finally {
      await support.close();
    }
  }

  async function counters(redis: string): Promise<unknown> {
    // Without a loss window, so that the file matters.
    const store = redisCounters({ redis, namespace: 'shop' });
    const counter = randomUUID();
    const taken = { counter, count: 5n, have: 0n, stores: '1/1' };
    try {
      await store.create({ counter, start: 1n, stores: '1/1' });
      await store.take({ ...taken, kind: 'dense', lossGap: 10n });
      const clock = { ...taken, counter: `${counter}-clock`, aheadMs: 1000, perMs: 1024 };
      await store.take({ ...clock, kind: 'clock' });
      await store.giveBack(`1.text.${counter}`, 1n);
      await store.counters();
      return await store.advice();
    } finally {
      await store.close();
    }
  }

  const USES: readonly [string, Use][] = [
    ['shop', workerIds],
    ['shop-counters', counters],
  ];
  /** Without this right the use still works, as the guide states. */
  const SPARED = '+config|get';

  async function refusalOf(user: string, use: Use): Promise<unknown> {
    return use(`redis://${user}:secret@127.0.0.1:${port}`).then(
      (advice) => advice,
      (error: { message: string; details?: { refusal: string } }) =>
        error.details?.refusal ?? error.message,
    );
  }

  describe.each(USES)('the user %s in the guide', (user, use) => {
    it('has exactly the rights that it needs', async () => {
      const rights = RIGHTS.get(user)!;
      await admin.call('ACL', 'SETUSER', user, 'reset', ...rights);
      expect(await refusalOf(user, use)).toEqual([]);
      const commands = rights.filter((right) => right.startsWith('+'));
      const needless = [];
      for (const command of commands.filter((one) => one !== SPARED)) {
        const others = rights.filter((right) => right !== command);
        await admin.call('ACL', 'SETUSER', user, 'reset', ...others);
        await admin.script('FLUSH');
        const refusal = await refusalOf(user, use);
        if (refusal !== 'permission') needless.push(command, refusal);
      }
      expect(needless).toEqual([]);
      const spared = rights.filter((right) => right !== SPARED);
      await admin.call('ACL', 'SETUSER', user, 'reset', ...spared);
      expect(await refusalOf(user, use)).toEqual([]);
    });
  });
});

/*
 * A Redis that vanishes silently, like a machine or an address that is gone. Requests get no answer
 * and no error for as long as the kernel tries.
 */
describe('redis silence', () => {
  const lab = new RedisLab();
  let proxy: MuteProxy;

  beforeEach(async () => {
    const { port } = await lab.server();
    proxy = await new MuteProxy(port).listen();
  });
  afterEach(() => proxy.end());
  afterAll(() => lab.end());

  function connection(kind: string, options: object = {}) {
    const { port } = proxy;
    const url = parseRedisUrl(`redis://127.0.0.1:${port}`);
    const time = new SettableTime();
    const build =
      kind === 'a URL'
        ? () => clientFromUrl(url)
        : async () => IOREDIS.duplicate(lab.client(port, { lazyConnect: true, ...options }));
    const made = new RedisConnection(
      () => new ClientLife(build, { timers: time, monotonic: time }),
      locationOfUrl(url),
    );
    return { time, made, ask: () => made.info('server') };
  }

  describe.each(['a URL', 'a client'])('a connection from %s', (kind) => {
    it('is replaced if it stays silent', async () => {
      const { time, made, ask } = connection(kind);
      await ask();
      proxy.mute();
      const asked = [ask(), ask()];
      await time.advance(SILENCE_MS);
      for (const answer of await Promise.all(asked)) expect(answer).toContain('run_id');
      expect(proxy.count).toBe(2);
      await made.close();
      expect(time.timerCount).toBe(0);
    });

    it('is replaced until one responds', async () => {
      const { time, made, ask } = connection(kind);
      await ask();
      proxy.mute();
      proxy.isMute = true;
      const asked = ask();
      for (const count of [2, 3]) {
        await time.advance(SILENCE_MS);
        await until(async () => proxy.count >= count);
      }
      proxy.isMute = false;
      await time.advance(SILENCE_MS);
      expect(await asked).toContain('run_id');
      await until(async () => (await ask()).includes('run_id'));
      await made.close();
    });
  });

  describe('a connection', () => {
    it('stays if it responds to any call', async () => {
      const { time, made, ask } = connection('a URL');
      await ask();
      for (let at = 0; at < 5; at++) {
        const answer = ask();
        await time.advance(SILENCE_MS - 1);
        await answer;
      }
      expect(proxy.count).toBe(1);
      await made.close();
    });

    it('may be silent while no call waits', async () => {
      const { time, made, ask } = connection('a URL');
      await ask();
      await time.advance(10 * SILENCE_MS);
      await ask();
      expect(proxy.count).toBe(1);
      await made.close();
    });

    it('is replaced if a limit of the client ends each call earlier', async () => {
      const { time, made, ask } = connection('a client', { commandTimeout: 200 });
      // A busy machine may take longer than the limit.
      const isAnswered = async () => (await ask().catch(() => '')).includes('run_id');
      await until(isAnswered);
      proxy.mute();
      expect(await failureOf(ask())).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await time.advance(SILENCE_MS / 2);
      expect(await failureOf(ask())).toMatchObject({ code: 'STORE_UNAVAILABLE' });
      await time.advance(SILENCE_MS / 2);
      await until(isAnswered);
      expect(proxy.count).toBe(2);
      await made.close();
      expect(time.timerCount).toBe(0);
    });

    it('reports the cause to each failed call, and recovers', async () => {
      const { time, made, ask } = connection('a URL');
      await ask();
      proxy.mute();
      const { port } = proxy;
      proxy.refuse();
      const failed = failureOf(ask());
      await time.advance(SILENCE_MS);
      expect(await failed).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      await proxy.listen(port);
      await until(async () => (await ask()).includes('run_id'));
      await made.close();
    });
  });
});
