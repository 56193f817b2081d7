/**
 * Both registries side by side: each operation goes to the one in memory and to the Lua on a real
 * Redis, with the same clock, server and random text, and both answers are kept.
 */
import type { Redis } from 'ioredis';
import { MemoryRegistry } from '../../lib/backends/memory/index.js';
import { leaseAnswer } from '../../lib/backends/redis/redis-answer.js';
import type {
  LeaseAnswer,
  LeaseRequest,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';
import type { StoreCall } from '../../lib/testing/index.js';
import { TIMED_LUA, timedArguments } from './timed-scripts.js';

export const LOSS_WINDOW_MS = 16_000;

export class RegistryTwin {
  timeMs = 1_800_000_000_000;
  server = 'one';
  readonly fromMemory: LeaseAnswer[] = [];
  readonly fromRedis: LeaseAnswer[] = [];
  private readonly memory = new MemoryRegistry();
  private count = 0;

  constructor(
    private readonly redis: Redis,
    private readonly key: string,
  ) {}

  async acquire(request: LeaseRequest): Promise<LeaseAnswer> {
    const reply = await this.run({ op: 'acquire', request });
    return this.keep(this.memory.acquire(request, this.reading()), leaseAnswer(reply));
  }

  async renew(lease: WorkerLease): Promise<LeaseAnswer> {
    const reply = await this.run({ op: 'renew', lease });
    return this.keep(this.memory.renew(lease, this.reading()), leaseAnswer(reply));
  }

  async release(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void> {
    await this.run({ op: 'release', lease, lastIssuedMs });
    this.memory.release(lease, lastIssuedMs, this.reading());
  }

  /** What both remember: first memory, then Redis. */
  async states(): Promise<[Record<string, number>, Record<string, number>]> {
    const names = ['safeFloor', 'era', 'operations', 'slew', 'quarantine'];
    const fields = Object.entries(await this.redis.hgetall(this.key));
    const kept = fields.filter(([name]) => names.includes(name) || /^c\d+$/.test(name));
    const { safeFloorMs, era, operations, slewMs, quarantineMs, ceilings } = this.memory.state!;
    const numbers = { era, operations, slew: slewMs, quarantine: quarantineMs };
    const named = [...ceilings].map(([workerId, ms]) => [`c${workerId}`, ms]);
    return [
      { ...numbers, safeFloor: safeFloorMs, ...Object.fromEntries(named) },
      Object.fromEntries(kept.map(([name, value]) => [name, Number(value)])),
    ];
  }

  private reading() {
    const { timeMs, server, count } = this;
    return { timeMs, server, random: `r${count}`, lossWindowMs: LOSS_WINDOW_MS };
  }

  private async run(call: StoreCall): Promise<unknown[]> {
    this.count++;
    const given = timedArguments(call, this.reading());
    return (await this.redis.eval(TIMED_LUA[call.op], 1, this.key, ...given)) as unknown[];
  }

  private keep(ours: LeaseAnswer, theirs: LeaseAnswer): LeaseAnswer {
    this.fromMemory.push(ours);
    this.fromRedis.push(theirs);
    return ours;
  }
}
