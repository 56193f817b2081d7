/**
 * The rules of counters exist in TypeScript and in Lua. Random walks must get the same results from
 * both, and leave the same state in both.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { denseForm, formOf } from '../../lib/counters/counter-rules.js';
import {
  namedGrant,
  POSITION_MAX,
  type CounterRow,
  type NewCounter,
  type TakeAnswer,
  type TakeRequest,
} from '../../lib/counters/counter-store.js';
import { CounterMap } from '../models/counter-map.js';
import { takeAnswer } from '../../lib/stores/redis/redis-counters.js';
import { isLeftServer } from '../stores/timed-redis.js';
import { TIMED_COUNTER_LUA } from './settable-counters.js';

// A pair of counters: each operation goes to the TypeScript rules and to the Lua script on a real
// Redis, with the same time, server, and random text. Both results are recorded.

class CounterTwin {
  timeMs = 1_800_000_000_000;
  server = 'one';
  /** The epoch of the failover that led the caller to this server. */
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
        ? [request.lossGap, request.startAt ?? '', 0, era, 0]
        : [request.aheadMs, '', request.perMs, era, request.reckonedMs ?? 0];
    const reply = await this.run('take', counter, [formOf(request), count, have, ...own]);
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

  /** @param isSeen whether another server answers, or the same server with less data */
  async restore(isSeen: boolean): Promise<void> {
    await this.redis.del(this.key);
    await this.redis.copy(`${this.key}:kept`, this.key);
    this.map.state = this.copy;
    if (isSeen) this.server += '+';
  }

  /** The stored state: first the rules, then Redis. */
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

/** Usually `usual`, sometimes one of the other values. */
const mostly = <T>(usual: fc.Arbitrary<T>, ...rest: T[]) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: fc.constantFrom(...rest) });

/** One step of a walk: the process and its operation, the elapsed time, and the server. */
const step = fc.record({
  op: fc.constantFrom('dense', 'dense', 'dense', 'dense', 'clock', 'give back', 'create'),
  befalls: mostly(fc.constant('nothing'), 'wiped', 'remembered', 'restored', 'rolled back'),
  elapsedMs: mostly(fc.nat(3000), -90_000, -700, 0, 0, 50_000, 3_600_000),
  server: mostly(fc.constant('same'), 'one', 'two'),
  process: fc.nat(2),
  counter: fc.constantFrom('a', 'a', 'b'),
  count: mostly(fc.nat(300).map(BigInt), 1n, 999_999_999n, 10n ** 12n, POSITION_MAX),
  forgets: mostly(fc.constant(false), true),
  more: mostly(fc.constant(0n), 1n, 10n ** 9n, 2n ** 53n, 2n ** 61n),
  lossGap: mostly(fc.constant(500n), 2n, 3n, 400n, 2n ** 33n + 1n, POSITION_MAX),
  starts: fc.boolean(),
  stores: mostly(fc.constant('1/1'), '1/2'),
  perMs: mostly(fc.constant(1024), 1, 4_194_304),
  aheadMs: mostly(fc.constant(1000), 1, 5000),
  era: mostly(fc.constant(0), 1, 3, 7),
  reckonedBy: mostly(fc.constantFrom(undefined, 0, 5), 4000, 90_000, 3_600_000),
  failovers: mostly(fc.constant(0), 1, -1),
  unused: mostly(fc.nat(50).map(BigInt), 0n, 299n, 10n ** 12n),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Three processes on two dense counters and one clock, in both stores. */
class Walk {
  private readonly have = new Map<string, bigint>();
  private readonly grants: string[] = [];

  constructor(
    private readonly twin: CounterTwin,
    private readonly start: bigint,
  ) {}

  async take(step: Step): Promise<string> {
    await this.befalls(step);
    this.twin.timeMs += step.elapsedMs;
    if (step.server !== 'same') this.twin.server = step.server;
    this.twin.epoch = Math.max(0, this.twin.epoch + step.failovers);
    const { op, counter, stores, unused } = step;
    if (op === 'create') {
      return `create ${await this.twin.create({ counter, start: this.start, stores })}`;
    }
    if (op === 'dense' || op === 'clock') return `${op} ${(await this.asked(step)).status}`;
    const grant = this.grants.at(unused % 3n === 0n ? -2 : -1);
    if (grant === undefined) return 'nothing';
    return `give back ${await this.twin.giveBack(grant, unused)}`;
  }

  private async befalls({ befalls }: Step): Promise<void> {
    if (befalls === 'wiped') await this.twin.wipe();
    if (befalls === 'remembered') await this.twin.remember();
    if (befalls === 'restored') await this.twin.restore(true);
    if (befalls === 'rolled back') await this.twin.restore(false);
  }

  private async asked(step: Step): Promise<TakeAnswer> {
    const { op, process, forgets, more, stores } = step;
    const counter = op === 'clock' && step.starts ? 'clock' : step.counter;
    const key = `${process} ${counter}`;
    const known = forgets ? 0n : (this.have.get(key) ?? 0n) + more;
    const have = known > POSITION_MAX ? POSITION_MAX : known;
    const asked = { counter, have, era: step.era, count: step.count + 1n, stores };
    if (asked.count > POSITION_MAX) asked.count = POSITION_MAX;
    const { lossGap, perMs, aheadMs, reckonedBy } = step;
    const reckonedMs = reckonedBy === undefined ? undefined : this.twin.timeMs + reckonedBy;
    const answer = await this.twin.take(
      op === 'clock'
        ? { kind: 'clock', ...asked, perMs, aheadMs, reckonedMs }
        : { kind: 'dense', ...asked, lossGap, ...(step.starts && { startAt: this.start }) },
    );
    if (answer.status !== 'ok') return answer;
    this.have.set(key, answer.end);
    this.grants.push(answer.grant);
    return answer;
  }
}

describe('the rules of counters in TypeScript and in Lua', () => {
  let redis: Redis;
  beforeAll(() => {
    redis = new Redis(process.env['REDIS_URL']!);
  });
  afterAll(() => redis.quit());

  it.each([
    [1n, 5000],
    [10n ** 9n - 400n, 0],
    [2n ** 53n - 700n, 2000],
    [POSITION_MAX - 2000n, 2000],
  ])('agree on counters that begin at %s, with a loss window of %s ms', async (start, windowMs) => {
    const seen = new Set<string>();
    let walkCount = 0;
    const walks = fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 60 }),
      async (steps) => {
        const key = `counter-agreement:{${start} ${windowMs} ${walkCount++}}`;
        await redis.del(key, `${key}:kept`);
        const twin = new CounterTwin(redis, key, windowMs);
        const walk = new Walk(twin, start);
        for (const taken of steps) {
          seen.add(await walk.take(taken));
          expect(twin.fromRedis.at(-1)).toEqual(twin.fromRules.at(-1));
        }
        const [ours, theirs] = await twin.states();
        expect(theirs).toEqual(ours);
        await redis.del(key, `${key}:kept`);
      },
    );
    // The walks must produce every kind of result, or they prove little.
    const statuses = ['ok', 'mismatch', 'absent', 'full', ...(windowMs > 0 ? ['wait'] : [])];
    const answers = [
      ...statuses.map((status) => `dense ${status}`),
      'clock ok',
      'clock wait',
      'clock mismatch',
      'give back true',
      'give back false',
      'create true',
      'create false',
    ];
    do await fc.assert(walks, { numRuns: 40 });
    while (walkCount < 400 && !answers.every((answer) => seen.has(answer)));
    expect([...seen]).toEqual(expect.arrayContaining(answers));
  });
});
