/**
 * Both registries side by side: each operation goes to the one in memory and to the Lua on a real
 * Redis, with the same clock, server and random text, and both answers are kept.
 */
import type { Redis } from 'ioredis';
import { MemoryRegistry } from '../../lib/backends/memory/index.js';
import { leaseAnswer } from '../../lib/backends/redis/redis-answer.js';
import { SCRIPTS } from '../../lib/backends/redis/scripts.generated.js';
import type {
  LeaseAnswer,
  LeaseRequest,
  LeaseTerms,
  WorkerLease,
} from '../../lib/lease/distributed-support.js';

/** The scripts with time and server taken from the last two arguments. */
function scripted(lua: string): string {
  const timed = lua
    .replace(/time = tonumber\(time\[1\]\).*\n/, 'time = tonumber(ARGV[#ARGV - 1])\n')
    .replace(/local server = info\(.*\)\n/, 'local server = ARGV[#ARGV]\n');
  const isGiven = timed.includes('time = tonumber(ARGV') && timed.includes('server = ARGV');
  if (!isGiven) throw new Error('The scripts have another beginning than this test knows.');
  return timed;
}

const LUA = {
  acquire: scripted(SCRIPTS.acquire.lua),
  renew: scripted(SCRIPTS.renew.lua),
  release: scripted(SCRIPTS.release.lua),
};

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
    const { token, nonce, workerIdMin, workerIdMax, minRangeMs, holder } = request;
    const args = [token, nonce, workerIdMin, workerIdMax, minRangeMs, JSON.stringify(holder)];
    const reply = await this.run('acquire', request, args);
    return this.keep(this.memory.acquire(request, this.reading()), leaseAnswer(reply));
  }

  async renew(lease: WorkerLease): Promise<LeaseAnswer> {
    const { token, nonce, nonceNext, workerId, haveMs, mark, minRangeMs } = lease;
    const seen = [haveMs, mark.incarnation, mark.server, mark.operations, minRangeMs];
    const reply = await this.run('renew', lease, [token, nonce, nonceNext, workerId, ...seen]);
    return this.keep(this.memory.renew(lease, this.reading()), leaseAnswer(reply));
  }

  async release(lease: WorkerLease, lastMs: number | undefined): Promise<void> {
    const { token, nonce, nonceNext, workerId } = lease;
    const usedMs = lastMs === undefined ? 0 : lastMs + 1;
    await this.run('release', lease, [token, nonce, nonceNext, workerId, usedMs]);
    this.memory.release(lease, lastMs, this.reading());
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

  private async run(
    name: keyof typeof LUA,
    terms: LeaseTerms,
    args: readonly (string | number)[],
  ): Promise<unknown[]> {
    const first = [terms.fingerprint, terms.ttlMs, LOSS_WINDOW_MS, 0, `r${++this.count}`];
    const given = [...first, ...args, this.timeMs, this.server];
    return (await this.redis.eval(LUA[name], 1, this.key, ...given)) as unknown[];
  }

  private keep(ours: LeaseAnswer, theirs: LeaseAnswer): LeaseAnswer {
    this.fromMemory.push(ours);
    this.fromRedis.push(theirs);
    return ours;
  }
}
