/**
 * A Redis client that passes time and server to scripts, and loses data on demand.
 */
import type { Redis, RedisOptions } from 'ioredis';
import { createHash, randomInt, randomUUID } from 'node:crypto';
import type { RegistryHeader } from '../../lib/registry/snapshot.js';
import { headerRow } from '../../lib/registry/stored-snapshot.js';
import { SettableTime } from '../../lib/testing/index.js';

export interface TimedReading {
  readonly timeMs: number;
  readonly server: string;
}

/**
 * An application's client whose duplicates append time and server to each script's arguments.
 *
 * @param texts of the scripts with these arguments, by the hash of the original text
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
      const send = client.call.bind(client) as (...command: unknown[]) => Promise<unknown>;
      const call = async (name: string, ...given: (string | number)[]) => {
        if (name !== 'evalsha') return send(name, ...given);
        const { timeMs, server } = reading();
        const [sha1, ...rest] = [...given, timeMs, server];
        const text = texts.get(String(sha1))!;
        return send('evalsha', hashOf(text), ...rest).catch((error: unknown) => {
          if (!String(error).includes('NOSCRIPT')) throw error;
          return send('eval', text, ...rest);
        });
      };
      return Object.assign(client, { call });
    },
  };
}

/** The copy of an absent key is its deletion. */
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
 * The library's Lua scripts with one change: the test passes time and server as the last two
 * arguments.
 */

export function timed(lua: string): string {
  return given(withTime(lua), /local server = run .*\n/, 'local server = ARGV[#ARGV]\n');
}

/** For a script that reads the time but not the server. */
export function withTime(lua: string): string {
  return given(lua, /local time = seconds.*\n/, 'local time = tonumber(ARGV[#ARGV - 1])\n');
}

function given(lua: string, asked: RegExp, put: string): string {
  if (asked.test(lua)) return lua.replace(asked, put);
  throw new Error('The scripts have another beginning than this test knows.');
}

/*
 * The clock and the server of stores under the test's control, for counters and for locks.
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

// A registry in Redis long after its creation: it has no holders and no pending loss of data. A
// test gets ranges with exact times without a wait of a minute.

const settling = new Map<string, Promise<void>>();

/** Runs once for each key, if there is no registry. */
export async function settleRegistry(redis: Redis, key: string): Promise<void> {
  const settled = settling.get(key) ?? settle(redis, key);
  settling.set(key, settled);
  await settled;
}

async function settle(redis: Redis, key: string): Promise<void> {
  const told = `${await redis.info('server')}\n${await redis.info('replication')}`;
  const field = (name: string) => new RegExp(`${name}:(\\w+)`).exec(told)![1]!;
  if (await redis.exists(key)) return;
  const server = `${field('run_id')}:${field('master_replid')}`;
  const lastTimeMs = Date.now();
  const header: RegistryHeader = {
    version: '2',
    fingerprint: '',
    incarnation: randomUUID(),
    server,
    lastTimeMs,
    slewMs: 0,
    quarantineMs: 0,
    safeFloorMs: 0,
    era: 1,
    operations: 0,
  };
  // The creator of a registry adds some blocks of rows, for which others wait.
  const { number, text } = headerRow({ ...header, blocks: [] });
  const fields = {
    version: '2',
    lastTime: lastTimeMs,
    server,
    epoch: 0,
    'r:|': `1|${number}|\n${text}`,
  };
  await redis.hset(key, fields);
}

/** The header of a registry; empty without one. */
export async function headerOf(redis: Redis, key: string): Promise<Partial<RegistryHeader>> {
  const line = (await redis.hget(key, 'r:|')) ?? '\n{}';
  return JSON.parse(line.slice(line.indexOf('\n'))) as Partial<RegistryHeader>;
}

/** Overwrites facts of the header, like a process. */
export async function changeHeader(
  redis: Redis,
  key: string,
  facts: Readonly<Record<string, unknown>>,
): Promise<void> {
  const header = { ...(await headerOf(redis, key)), ...facts };
  await redis.hset(key, 'r:|', `${randomInt(2 ** 40)}|0|\n${JSON.stringify(header)}`);
}

/** The end of a worker ID's range, and its holder's token. */
export async function slotOf(redis: Redis, key: string, workerId: number) {
  const line = await redis.hget(key, `r:${workerId}`);
  const [, ceilingMs, token] = /^\d+\|(\d+)\|([^\n]*)\n/.exec(line ?? '') ?? [];
  return { ceilingMs: Number(ceilingMs ?? 0), token: token || undefined };
}

/** The store's own facts, as scripts/prologue.lua reads them. */
export async function isLeftServer(
  redis: Redis,
  key: string,
  { server, epoch }: { readonly server: string; readonly epoch: number },
): Promise<boolean> {
  const [last, known, time] = await redis.hmget(key, 'server', 'epoch', 'lastTime');
  return time !== null && last === server && Number(known) > 0 && epoch > Number(known);
}
