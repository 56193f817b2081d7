/**
 * A client of Redis by which scripts are told time and server, and which forgets on demand.
 */
import type { Redis, RedisOptions } from 'ioredis';
import { createHash, randomUUID } from 'node:crypto';
import type {
  LeaseAnswer,
  LeaseRequest,
  LeaseTerms,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import { WHOLE_COUNT_MAX } from '../../lib/registry/acquire.js';
import type { StoreReading } from '../../lib/registry/snapshot.js';
import { MemoryRegistry } from '../../lib/stores/memory/index.js';
import { leaseAnswer } from '../../lib/stores/redis/redis.support.js';
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
  const whole = `local WHOLE = ${WHOLE_COUNT_MAX}\n`;
  if (!SCRIPTS.acquire.lua.includes(whole)) throw new Error('The search has another limit.');
  return {
    acquire: timed(SCRIPTS.acquire.lua.replace(whole, `local WHOLE = ${wholeCountMax}\n`)),
    renew: timed(SCRIPTS.renew.lua),
    release: timed(SCRIPTS.release.lua),
  };
}

/** What a script is given, in the order of redis.support.ts. */
export function timedArguments(call: StoreCall, reading: StoreReading): (string | number)[] {
  const terms = call.op === 'acquire' ? call.request : call.lease;
  const { wallMs = '', reckoned, layouts = '', latestMs = '' } = terms;
  const { incarnation = '', server = '', nowMs = '', timeMs = '' } = reckoned ?? {};
  return [
    [terms.fingerprint, layouts, latestMs].join('\n'),
    terms.ttlMs,
    windowsOf(terms, reading),
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

function windowsOf(terms: LeaseTerms, { lossWindowMs, keepsAfterMs = 0 }: StoreReading): string {
  const longestMs = Math.max(lossWindowMs, terms.quarantineMs - terms.ttlMs);
  return [longestMs, keepsAfterMs, lossWindowMs].join(' ');
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
    const { nonceBefore = '' } = call.lease;
    return [...lease, haveMs, incarnation, server, operations, minRangeMs, era, nonceBefore];
  }
  const { settles, move } = call.lease;
  const { text = '', byMs = 0, floorMs = 0 } = move ?? {};
  const orders = [settles === true ? 1 : 0, text, byMs, floorMs];
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

/*
 * Both registries side by side: each operation goes to the one in memory and to the Lua on a real
 * Redis, with the same clock, server and random text, and both answers are kept.
 */

const TWIN_LOSS_WINDOW_MS = 16_000;

/** What the store knows by itself, as scripts/prologue.lua finds it. */
export async function isLeftServer(
  redis: Redis,
  key: string,
  { server, epoch }: { readonly server: string; readonly epoch: number },
): Promise<boolean> {
  const [last, known, time] = await redis.hmget(key, 'server', 'epoch', 'lastTime');
  return time !== null && last === server && Number(known) > 0 && epoch > Number(known);
}

export class RegistryTwin {
  timeMs = 1_800_000_000_000;
  server = 'one';
  /** Of the failover by which whoever asks was led to it. */
  epoch = 0;
  readonly fromMemory: LeaseAnswer[] = [];
  readonly fromRedis: LeaseAnswer[] = [];
  private readonly memory: MemoryRegistry;
  private readonly lua: ReturnType<typeof timedLua>;
  private count = 0;

  constructor(
    private readonly redis: Redis,
    private readonly key: string,
    wholeCountMax = WHOLE_COUNT_MAX,
    private readonly keepsAfterMs = 0,
  ) {
    this.memory = new MemoryRegistry(wholeCountMax);
    this.lua = timedLua(wholeCountMax);
  }

  async acquire(request: LeaseRequest): Promise<LeaseAnswer> {
    const { reply, reading } = await this.run({ op: 'acquire', request });
    return this.keep(this.memory.acquire(request, reading), leaseAnswer(reply));
  }

  async renew(lease: WorkerLease): Promise<LeaseAnswer> {
    const { reply, reading } = await this.run({ op: 'renew', lease });
    return this.keep(this.memory.renew(lease, reading), leaseAnswer(reply));
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    const { reading } = await this.run({ op: 'release', lease, lastIssuedMs });
    this.memory.release(lease, lastIssuedMs, reading);
  }

  /** Everything is gone; the server runs on. */
  async wipe(): Promise<void> {
    await this.redis.del(this.key);
    this.memory.state = undefined;
  }

  /** As a script left it that could not end, which in memory does not happen. */
  async leaveHalf(): Promise<void> {
    await this.redis.del(this.key);
    await this.redis.hset(this.key, { version: '1', fingerprint: 'half', incarnation: 'half' });
    this.memory.state = undefined;
  }

  /** A later version of the protocol keeps it from now on, until it is wiped. */
  async raise(): Promise<void> {
    if (this.memory.state === undefined) return;
    await this.redis.hset(this.key, 'version', '2');
    this.memory.state.version = '2';
  }

  /** What both remember: first memory, then Redis. */
  async states(): Promise<[Record<string, string>, Record<string, string>]> {
    const fields = Object.entries(await this.redis.hgetall(this.key));
    const inRedis = Object.fromEntries(
      fields.filter(([name]) => !/^[oke]/.test(name) || ['operations', 'era'].includes(name)),
    );
    const { state } = this.memory;
    if (state === undefined) return [{}, 'lastTime' in inRedis ? inRedis : {}];
    const named = [...state.ceilings].map(([workerId, ms]) => [`c${workerId}`, String(ms)]);
    const inMemory = {
      version: state.version,
      fingerprint: state.fingerprint,
      incarnation: state.incarnation,
      server: state.server,
      lastTime: String(state.lastTimeMs),
      slew: String(state.slewMs),
      quarantine: String(state.quarantineMs),
      safeFloor: String(state.safeFloorMs),
      era: String(state.era),
      operations: String(state.operations),
      ...(state.leftEra !== undefined && { leftEra: String(state.leftEra) }),
      ...(state.toldMs !== undefined && { toldAhead: String(state.toldMs) }),
      ...(state.lineage !== undefined && { lineage: state.lineage }),
      ...(state.latestMs !== undefined && { latest: String(state.latestMs) }),
      ...Object.fromEntries(named),
    };
    return [inMemory, inRedis];
  }

  private reading() {
    const { timeMs, server, count, keepsAfterMs } = this;
    const random = `r${count}`;
    return { timeMs, server, random, lossWindowMs: TWIN_LOSS_WINDOW_MS, keepsAfterMs };
  }

  private async run(call: StoreCall) {
    this.count++;
    const isLeft = await isLeftServer(this.redis, this.key, this);
    const reading = { ...this.reading(), isLeft };
    const lua = `ARGV.epoch = ${this.epoch}\n${this.lua[call.op]}`;
    const given = timedArguments(call, reading);
    const reply = (await this.redis.eval(lua, 1, this.key, ...given)) as unknown[];
    return { reply, reading };
  }

  private keep(ours: LeaseAnswer, theirs: LeaseAnswer): LeaseAnswer {
    this.fromMemory.push(ours);
    this.fromRedis.push(theirs);
    return ours;
  }
}
