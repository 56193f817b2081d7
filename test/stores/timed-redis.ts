/**
 * A client of Redis by which scripts are told time and server, and which forgets on demand.
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
 * The Lua scripts as the library runs them, but for one thing: time and server are given as the
 * last two arguments instead of being asked of Redis, so that a test decides them.
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
  // Whoever makes a registry makes some blocks of rows, for which others wait.
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

/** The header of a registry; empty if there is none. */
export async function headerOf(redis: Redis, key: string): Promise<Partial<RegistryHeader>> {
  const line = (await redis.hget(key, 'r:|')) ?? '\n{}';
  return JSON.parse(line.slice(line.indexOf('\n'))) as Partial<RegistryHeader>;
}

/** Writes over facts of the header, as if a process had. */
export async function changeHeader(
  redis: Redis,
  key: string,
  facts: Readonly<Record<string, unknown>>,
): Promise<void> {
  const header = { ...(await headerOf(redis, key)), ...facts };
  await redis.hset(key, 'r:|', `${randomInt(2 ** 40)}|0|\n${JSON.stringify(header)}`);
}

/** The end of the range of a worker id, and the token of its holder. */
export async function slotOf(redis: Redis, key: string, workerId: number) {
  const line = await redis.hget(key, `r:${workerId}`);
  const [, ceilingMs, token] = /^\d+\|(\d+)\|([^\n]*)\n/.exec(line ?? '') ?? [];
  return { ceilingMs: Number(ceilingMs ?? 0), token: token || undefined };
}

/** What the store knows by itself, as scripts/prologue.lua finds it. */
export async function isLeftServer(
  redis: Redis,
  key: string,
  { server, epoch }: { readonly server: string; readonly epoch: number },
): Promise<boolean> {
  const [last, known, time] = await redis.hmget(key, 'server', 'epoch', 'lastTime');
  return time !== null && last === server && Number(known) > 0 && epoch > Number(known);
}
