/**
 * The way redis-id-generator counts, from its description: a key for each millisecond, tag and
 * shard, which is increased and expires. Written anew, as the negative control of ours.
 */
import type { Redis } from 'ioredis';

const LUA = `
local time = ARGV[3] == '' and redis.call('TIME') or { ARGV[3], ARGV[4] }
local ms = time[1] * 1000 + math.floor(time[2] / 1000)
local key = ARGV[1] .. '_' .. ARGV[2] .. '_' .. string.format('%.0f', ms)
local number = redis.call('INCR', key)
if number == 1 then redis.call('PEXPIRE', key, 5) end
return { string.format('%.0f', ms), number }
`;

export class PeerIds {
  constructor(
    private readonly redis: Redis,
    private readonly tag: string,
    /** Seconds and us that Redis is told; its own without it. */
    private readonly time?: () => readonly [number, number],
  ) {}

  next(count: number, shard = 0): Promise<bigint[]> {
    return Promise.all(Array.from({ length: count }, () => this.one(shard)));
  }

  private async one(shard: number): Promise<bigint> {
    const [seconds, us] = this.time?.() ?? ['', ''];
    const reply = await this.redis.eval(LUA, 0, this.tag, shard, seconds, us);
    const [ms, number] = reply as [string, number];
    return (BigInt(ms) << 22n) | (BigInt(shard) << 10n) | BigInt(number);
  }
}
