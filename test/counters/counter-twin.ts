/**
 * Counters twice, side by side: each operation goes to the rules in TypeScript and to the Lua on a
 * real Redis, with the same time, server and random text, and both answers are kept.
 */
import type { Redis } from 'ioredis';
import { CounterMap } from '../../lib/stores/memory/memory-counters.js';
import { takeAnswer } from '../../lib/stores/redis/redis-counters.js';
import { denseForm, formOf } from '../../lib/counters/check-take.js';
import type { CounterRow } from '../../lib/counters/counter-snapshot.js';
import {
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
  namedGrant,
} from '../../lib/counters/counter-store.js';
import { isLeftServer } from '../stores/registry-twin.js';
import { TIMED_COUNTER_LUA } from './settable-counters.js';

export class CounterTwin {
  timeMs = 1_800_000_000_000;
  server = 'one';
  /** Of the failover by which whoever asks was led to it. */
  epoch = 0;
  private isLeft = false;
  readonly fromRules: unknown[] = [];
  readonly fromRedis: unknown[] = [];
  private readonly map = new CounterMap();
  private copy = this.map.state;
  private count = 0;

  constructor(
    private readonly redis: Redis,
    private readonly key: string,
    private readonly lossWindowMs: number,
  ) {}

  async take(request: TakeRequest): Promise<TakeAnswer> {
    const { counter, count, have, era = 0 } = request;
    const own =
      request.kind === 'dense'
        ? [request.lossGap, request.startAt ?? '', 0]
        : [request.aheadMs, '', request.perMs];
    const reply = await this.run('take', counter, [formOf(request), count, have, ...own, era]);
    const ours = this.map.take(request, this.reading());
    this.keep(ours, takeAnswer(reply, counter));
    return ours;
  }

  async giveBack(grant: string, unused: bigint): Promise<boolean> {
    const named = namedGrant(grant)!;
    const { counter, text, first } = named;
    const [status] = await this.run('giveBack', counter, [text, first, unused]);
    const ours = this.map.giveBack(named, unused, this.reading());
    this.keep(ours, status === 'taken back');
    return ours;
  }

  async create(counter: NewCounter): Promise<boolean> {
    const asked = [denseForm(counter.stores), counter.start];
    const [status] = await this.run('create', counter.counter, asked);
    const ours = this.map.create(counter, this.reading());
    this.keep(ours, status === 'created');
    return ours;
  }

  async wipe(): Promise<void> {
    await this.redis.del(this.key);
    this.map.state = undefined;
  }

  async remember(): Promise<void> {
    await this.redis.del(`${this.key}:kept`);
    await this.redis.copy(this.key, `${this.key}:kept`);
    this.copy = this.map.state;
  }

  /** @param isSeen whether another server answers, or the same one with less in it */
  async restore(isSeen: boolean): Promise<void> {
    await this.redis.del(this.key);
    await this.redis.copy(`${this.key}:kept`, this.key);
    this.map.state = this.copy;
    if (isSeen) this.server += '+';
  }

  /** What both remember: first the rules, then Redis. */
  async states(): Promise<[Record<string, string>, Record<string, string>]> {
    const { epoch: _epoch, ...inRedis } = await this.redis.hgetall(this.key);
    const { state } = this.map;
    if (state === undefined) return [{}, inRedis];
    const { header, rows } = state;
    const fields = {
      version: '1',
      incarnation: header.incarnation,
      server: header.server,
      lastTime: String(header.lastTimeMs),
      slew: String(header.slewMs),
      era: String(header.era),
    };
    return [Object.assign(fields, ...[...rows].map(fieldsOf)), inRedis];
  }

  private reading() {
    const { timeMs, server, count, lossWindowMs } = this;
    return { timeMs, server, isLeft: this.isLeft, random: `r${count}`, lossWindowMs };
  }

  private async run(
    script: keyof typeof TIMED_COUNTER_LUA,
    counter: string,
    args: readonly unknown[],
  ): Promise<unknown[]> {
    this.count++;
    this.isLeft = await isLeftServer(this.redis, this.key, this);
    const { timeMs, server, random, lossWindowMs } = this.reading();
    const all = [counter, lossWindowMs, random, ...args, timeMs, server].map(String);
    const lua = `ARGV.epoch = ${this.epoch}\n${TIMED_COUNTER_LUA[script]}`;
    return (await this.redis.eval(lua, 1, this.key, ...all)) as unknown[];
  }

  private keep(ours: unknown, theirs: unknown): void {
    this.fromRules.push(ours);
    this.fromRedis.push(theirs);
  }
}

function fieldsOf([counter, row]: [string, CounterRow]): Record<string, string> {
  const { form, next, era, margin, readyAtMs, windowAtMs, windowCount, grant } = row;
  const rest = [form, era, margin, readyAtMs, windowAtMs, windowCount, grant].join('|');
  return { [`n:${counter}`]: String(next), [`c:${counter}`]: rest };
}
