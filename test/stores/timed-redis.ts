/**
 * A client of Redis by which scripts are told time and server, and which forgets on demand.
 */
import { createHash, randomUUID } from 'node:crypto';
import type { Redis, RedisOptions } from 'ioredis';
import { WHOLE_COUNT_MAX } from '../../lib/registry/acquire.js';
import type { StoreReading } from '../../lib/registry/snapshot.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import { SettableTime } from '../../lib/testing/index.js';
import type { StoreCall } from '../simulation/world/index.js';

export interface TimedReading {
  readonly timeMs: number;
  readonly server: string;
}

/**
 * A client of the application whose duplicates give each script time and server at its end.
 *
 * @param texts of the scripts that take them there, by the hash of the text that does not
 */
export function timedClient(
  redis: Redis,
  texts: ReadonlyMap<string, string>,
  reading: () => TimedReading,
) {
  return {
    status: redis.status,
    options: redis.options,
    duplicate(options: RedisOptions) {
      const client = redis.duplicate(options);
      const byHash = client.evalsha.bind(client);
      const evalsha = async (sha1: string, keyCount: number, ...args: (string | number)[]) => {
        const { timeMs, server } = reading();
        const text = texts.get(sha1)!;
        const given = [...args, timeMs, server];
        return byHash(hashOf(text), keyCount, ...given).catch((error: unknown) => {
          if (!String(error).includes('NOSCRIPT')) throw error;
          return client.eval(text, keyCount, ...given);
        });
      };
      return Object.assign(client, { evalsha });
    },
  };
}

/** A key that is not there is copied by not being there. */
export async function copied(redis: Redis, from: string, to: string): Promise<void> {
  await redis.del(to);
  await redis.copy(from, to);
}

const hashes = new Map<string, string>();

function hashOf(text: string): string {
  const known = hashes.get(text) ?? createHash('sha1').update(text).digest('hex');
  hashes.set(text, known);
  return known;
}

/*
 * The Lua scripts as the library runs them, but for two things: time and server are given as the
 * last two arguments instead of being asked of Redis, so that a test decides them; and so is how
 * many worker ids a span may have to be searched whole, so that a small one can be a wide one.
 */

export function timed(lua: string): string {
  return given(withTime(lua), /local server = run .*\n/, 'local server = ARGV[#ARGV]\n');
}

/** Of a script that tells the time and asks for no server. */
export function withTime(lua: string): string {
  return given(lua, /local time = seconds.*\n/, 'local time = tonumber(ARGV[#ARGV - 1])\n');
}

function given(lua: string, asked: RegExp, put: string): string {
  if (asked.test(lua)) return lua.replace(asked, put);
  throw new Error('The scripts have another beginning than this test knows.');
}

export const TIMED_LUA = timedLua(WHOLE_COUNT_MAX);

export function timedLua(wholeCountMax: number) {
  const whole = `local WHOLE = ${WHOLE_COUNT_MAX} `;
  if (!SCRIPTS.acquire.lua.includes(whole)) throw new Error('The search has another limit.');
  return {
    acquire: timed(SCRIPTS.acquire.lua.replace(whole, `local WHOLE = ${wholeCountMax} `)),
    renew: timed(SCRIPTS.renew.lua),
    release: timed(SCRIPTS.release.lua),
  };
}

/** What a script is given, in the order of redis.support.ts. */
export function timedArguments(call: StoreCall, reading: StoreReading): (string | number)[] {
  const terms = call.op === 'acquire' ? call.request : call.lease;
  const { wallMs = '', reckoned, layouts } = terms;
  const { incarnation = '', server = '', nowMs = '', timeMs = '' } = reckoned ?? {};
  return [
    layouts === undefined ? terms.fingerprint : `${terms.fingerprint}\n${layouts}`,
    terms.ttlMs,
    Math.max(reading.lossWindowMs, terms.quarantineMs - terms.ttlMs),
    reading.random,
    wallMs,
    incarnation,
    server,
    nowMs,
    timeMs,
    ...ownArguments(call),
    reading.timeMs,
    reading.server,
  ];
}

function ownArguments(call: StoreCall): (string | number)[] {
  if (call.op === 'acquire') {
    const { token, nonce, workerIdMin, workerIdMax, minRangeMs, haveMs } = call.request;
    const { holder, takesOver } = call.request;
    const asked = [token, nonce, workerIdMin, workerIdMax, minRangeMs, haveMs];
    const { incarnation = '', server = '', era = 0, haveMs: seenMs = 0 } = call.request.seen ?? {};
    const own = [JSON.stringify(holder), takesOver === true ? 1 : 0];
    return [...asked, ...own, incarnation, server, era, seenMs];
  }
  const { token, nonce, nonceNext, workerId, haveMs, mark, minRangeMs } = call.lease;
  const lease = [token, nonce, nonceNext, workerId];
  if (call.op === 'renew') {
    const { incarnation, server, operations, era = 0 } = mark;
    return [...lease, haveMs, incarnation, server, operations, minRangeMs, era];
  }
  const { settles, move } = call.lease;
  const orders = [settles === true ? 1 : 0, move?.text ?? '', move?.byMs ?? 0];
  return [...lease, call.lastIssuedMs === undefined ? 0 : call.lastIssuedMs + 1, ...orders];
}

/*
 * The clock and the server of stores as a test sets them, for counters and for locks.
 */

export const LOSS_WINDOW_MS = 5000;

/** Time and server, by the name of a store. */
export class StoreReadings {
  readonly clock = new SettableTime();
  private readonly servers = new Map<string, number>();
  private count = 0;

  constructor(private readonly lossWindowMs = LOSS_WINDOW_MS) {}

  of(name: string) {
    const server = `server${this.servers.get(name) ?? 0}`;
    const random = `text${++this.count}`;
    return { timeMs: this.clock.now(), server, random, lossWindowMs: this.lossWindowMs };
  }

  changeServer(name: string): void {
    this.servers.set(name, (this.servers.get(name) ?? 0) + 1);
  }

  readonly control = {
    now: () => this.clock.now(),
    advance: (ms: number) => void (this.clock.wallMs += ms),
  };
}

// A registry in Redis as it is long after it was created: nobody holds anything, and no loss of
// data is ahead any more, so that a test gets ranges of exact times without waiting for a minute.

const settling = new Map<string, Promise<void>>();

/** Once for each key, and not where there is a registry. */
export async function settleRegistry(redis: Redis, key: string): Promise<void> {
  const settled = settling.get(key) ?? settle(redis, key);
  settling.set(key, settled);
  await settled;
}

async function settle(redis: Redis, key: string): Promise<void> {
  const told = `${await redis.info('server')}\n${await redis.info('replication')}`;
  const field = (name: string) => new RegExp(`${name}:(\\w+)`).exec(told)![1]!;
  if (await redis.exists(key)) return;
  await redis.hset(key, {
    version: '1',
    fingerprint: '',
    incarnation: randomUUID(),
    server: `${field('run_id')}:${field('master_replid')}`,
    lastTime: Date.now(),
    slew: 0,
    quarantine: 0,
    safeFloor: 0,
    era: 1,
    operations: 0,
  });
}
