/**
 * Both registries side by side: each operation goes to the one in memory and to the Lua on a real
 * Redis, with the same clock, server and random text, and both answers are kept.
 */
import type { Redis } from 'ioredis';
import { MemoryRegistry } from '../../lib/stores/memory/index.js';
import { leaseAnswer } from '../../lib/stores/redis/redis.support.js';
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import type { StoreCall } from '../simulation/world/index.js';
import { WHOLE_COUNT_MAX } from '../../lib/registry/acquire.js';
import { timedArguments, timedLua } from './timed-redis.js';

export const LOSS_WINDOW_MS = 16_000;

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
      ...Object.fromEntries(named),
    };
    return [inMemory, inRedis];
  }

  private reading() {
    const { timeMs, server, count } = this;
    return { timeMs, server, random: `r${count}`, lossWindowMs: LOSS_WINDOW_MS };
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
