/**
 * The rules of locks exist in both TypeScript and Lua. Random walks must get the same answers from
 * both, and leave both with the same state.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import type {
  AcquireAnswer,
  AcquireRequest,
  ExtendRequest,
  HeldLock,
  ReleaseRequest,
} from '../../lib/lock/lock-store.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import {
  acquireAnswer,
  acquireArguments,
  extendAnswer,
  extendArguments,
  releaseArguments,
} from '../../lib/stores/redis/redis-locks.js';
import { MapStore } from '../registry/walk-store.js';
import { isLeftServer } from '../stores/timed-redis.js';
import { TIMED_LOCK_LUA } from './settable-locks.js';

// Two stores of locks side by side. Each operation goes to the TypeScript rules and to the Lua
// scripts in a real Redis, with the same time and server, and the test keeps both answers.

/** The rules' names of the fields in Redis. */
const FACTS = {
  server: 'server',
  slewMs: 'slew',
  era: 'era',
  longestMs: 'longest',
  provenMs: 'proven',
  provenAtMs: 'provenAt',
  readyAtMs: 'ready',
  forgottenTo: 'forgotten',
};

const START_MS = 1_800_000_000_000;

class LockTwin {
  timeMs = START_MS;
  server = 'one';
  /** The failover that brought the caller to this server. */
  epoch = 0;
  private isLeft = false;
  readonly fromRules: unknown[] = [];
  readonly fromRedis: unknown[] = [];
  private readonly rows: MapStore;
  private readonly rules: RowLocks;
  private copy = new Map() as MapStore['rows'];

  constructor(
    private readonly redis: Redis,
    private readonly key: string,
    private readonly lossWindowMs: number,
  ) {
    const moment = () => {
      // Locks treat both cases alike: after a write, the data is no longer a copy.
      const isPutBack = this.isLeft;
      this.isLeft = false;
      return { timeMs: this.timeMs, server: this.server, isPutBack };
    };
    this.rows = new MapStore(moment, lossWindowMs);
    // Both delete unused rows, but at different moments.
    this.rows.sweep = async () => false;
    this.rules = new RowLocks(this.rows);
  }

  async acquire(request: AcquireRequest): Promise<AcquireAnswer> {
    const asked = acquireArguments(request, 0);
    const reply = await this.run('acquire', request.lock, asked);
    const ours = await this.rules.acquire(request);
    this.keep(ours, acquireAnswer(reply, request.ttlMs));
    return ours;
  }

  async extend(request: ExtendRequest): Promise<string> {
    const reply = await this.run('extend', request.lock, extendArguments(request));
    const ours = await this.rules.extend(request);
    this.keep(ours, extendAnswer(reply, request.ttlMs));
    return ours.status;
  }

  /** Only this test sees these answers. */
  async release(held: HeldLock & ReleaseRequest): Promise<string> {
    const { lock } = held;
    const before = this.rows.rows.get(lock)?.text;
    const [status] = await this.run('release', lock, releaseArguments(held));
    await this.rules.release(held);
    const isReleased = this.rows.rows.get(lock)?.text !== before;
    this.keep(isReleased ? 'released' : 'other', status);
    return String(status);
  }

  async wipe(): Promise<void> {
    await this.redis.del(this.key);
    this.rows.rows.clear();
  }

  async remember(): Promise<void> {
    await this.redis.del(`${this.key}:kept`);
    await this.redis.copy(this.key, `${this.key}:kept`);
    this.copy = structuredClone(this.rows.rows);
  }

  /** @param isSeen whether another server answers, instead of the same one with less data */
  async restore(isSeen: boolean): Promise<void> {
    await this.redis.del(this.key);
    await this.redis.copy(`${this.key}:kept`, this.key);
    this.rows.rows = structuredClone(this.copy);
    if (isSeen) this.server += '+';
  }

  /** The state of both: first the rules, then Redis. */
  async states(): Promise<[Record<string, string>, Record<string, string>]> {
    const inRedis = await this.redis.hgetall(this.key);
    const facts = Object.values(FACTS);
    const isShared = (name: string) => facts.includes(name) || /^[ln]:/.test(name);
    const theirs = Object.entries(inRedis).filter(([name]) => isShared(name));
    const ours = [...this.rows.rows].flatMap(([key, { text }]) => {
      const fields = JSON.parse(text) as Record<string, unknown>;
      return key === HEADER_KEY ? factsOf(fields) : linesOf(key, fields);
    });
    return [Object.fromEntries(ours), Object.fromEntries(theirs)];
  }

  private async run(
    script: keyof typeof TIMED_LOCK_LUA,
    lock: string,
    args: readonly unknown[],
  ): Promise<unknown[]> {
    const { timeMs, server, lossWindowMs } = this;
    this.isLeft = await isLeftServer(this.redis, this.key, this);
    const all = [lock, lossWindowMs, ...args, timeMs, server].map(String);
    const lua = `ARGV.epoch = ${this.epoch}\n${TIMED_LOCK_LUA[script]}`;
    return (await this.redis.eval(lua, 1, this.key, ...all)) as unknown[];
  }

  private keep(ours: unknown, theirs: unknown): void {
    this.fromRules.push(ours);
    this.fromRedis.push(theirs);
  }
}

function factsOf(header: Record<string, unknown>): [string, string][] {
  return Object.entries(FACTS).map(([ours, theirs]) => [theirs, String(header[ours])]);
}

function linesOf(lock: string, row: Record<string, unknown>): [string, string][] {
  const { token, era, sinceMs, untilMs, holder, label, note } = row;
  const line = [token, era, sinceMs, untilMs, holder, label].join('|');
  return [[`l:${lock}`, line], ...(typeof note === 'string' ? notedAs(lock, note) : [])];
}

function notedAs(lock: string, note: string): [string, string][] {
  return [[`n:${lock}`, note]];
}

/** Usually `usual`, sometimes one of the rest. */
const mostly = <T>(usual: fc.Arbitrary<T>, ...rest: T[]) =>
  fc.oneof({ weight: 9, arbitrary: usual }, { weight: 1, arbitrary: fc.constantFrom(...rest) });

/** One step of a walk: the caller and its call, the elapsed time, and the server. */
const step = fc.record({
  op: fc.constantFrom('acquire', 'acquire', 'acquire', 'extend', 'release'),
  befalls: mostly(fc.constant('nothing'), 'wiped', 'remembered', 'restored', 'rolled back'),
  elapsedMs: mostly(fc.nat(2500), -90_000, -700, 0, 7000, 50_000, 3_600_000),
  server: mostly(fc.constant('same'), 'one', 'two'),
  process: fc.nat(2),
  lock: fc.constantFrom('a', 'a', 'a', 'b'),
  ttlMs: mostly(fc.integer({ min: 1, max: 4000 }), 1, 9000),
  longestMs: mostly(fc.constant(4000), 9000, 20_000),
  again: mostly(fc.constant(false), true),
  forgets: mostly(fc.constant(false), true),
  more: mostly(fc.constant(0n), 1n, 2n ** 40n, 2n ** 55n),
  keepMs: mostly(fc.constant(0), 1500),
  era: mostly(fc.constant(0), 1, 2, 5, 9),
  note: mostly(fc.constant(undefined), 'short', 'with | and ä'),
  failovers: mostly(fc.constant(0), 1, -1),
  /** True if the caller brings the highest token. */
  tellsHighest: mostly(fc.constant(false), true),
  /** The offset of the caller's clocks from the time without steps; absent if it brings none. */
  wallOffMs: mostly(fc.constantFrom(0, undefined), -7000, 4000, 3_600_000),
  nowOffMs: mostly(fc.constantFrom(0, undefined), -7000, 1, 999, 60_000, 86_400_000),
  settles: mostly(fc.constant(false), true),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** Three processes on two locks of both stores. */
class Walk {
  private readonly have = new Map<string, bigint>();
  private readonly held = new Map<string, { holder: string; token: bigint }>();
  private highest = 0n;
  private count = 0;
  /** The time by the callers' clocks, which steps of the store's clock do not affect. */
  private passedMs = 0;
  private last: { readonly nowMs: number; readonly passedMs: number } | undefined;

  constructor(private readonly twin: LockTwin) {}

  async take(step: Step): Promise<string> {
    const { befalls, op, process, lock, ttlMs, keepMs } = step;
    if (befalls === 'wiped') await this.twin.wipe();
    if (befalls === 'remembered') await this.twin.remember();
    if (befalls === 'restored') await this.twin.restore(true);
    if (befalls === 'rolled back') await this.twin.restore(false);
    this.twin.timeMs += step.elapsedMs;
    if (step.elapsedMs > 0 && step.elapsedMs < 5000) this.passedMs += step.elapsedMs;
    if (step.server !== 'same') this.twin.server = step.server;
    this.twin.epoch = Math.max(0, this.twin.epoch + step.failovers);
    const key = `${process} ${lock}`;
    const { era, note, settles } = step;
    const caller = this.caller(step);
    const held = this.held.get(key);
    if (op === 'acquire' || held === undefined) return this.acquire(step, key);
    const { holder, token } = held;
    const { clocks } = caller;
    if (op === 'release') return this.twin.release({ lock, holder, token, keepMs, clocks });
    const renewal = { lock, holder, token, ttlMs, era, note, settles, ...caller };
    return `extend ${await this.twin.extend(renewal)}`;
  }

  private caller({ tellsHighest, wallOffMs, nowOffMs }: Step) {
    const { passedMs, last } = this;
    const nowMs =
      nowOffMs === undefined || last === undefined
        ? undefined
        : last.nowMs + passedMs - last.passedMs + nowOffMs;
    const clocks =
      wallOffMs === undefined ? undefined : { wallMs: START_MS + passedMs + wallOffMs, nowMs };
    return { highest: tellsHighest ? this.highest : undefined, clocks };
  }

  private async acquire(step: Step, key: string): Promise<string> {
    const { lock, process, ttlMs, again, forgets, more } = step;
    const known = forgets ? 0n : (this.have.get(key) ?? 0n);
    const holder = again ? (this.held.get(key)?.holder ?? 'x') : `h${process}.${this.count++}`;
    const answer = await this.twin.acquire({
      lock,
      holder,
      label: `the | of ${process}`,
      ttlMs,
      longestMs: Math.max(ttlMs, step.longestMs),
      have: known === 0n ? 0n : known + more,
      era: step.era,
      ...this.caller(step),
    });
    if ('nowMs' in answer) this.last = { nowMs: answer.nowMs!, passedMs: this.passedMs };
    if (answer.status === 'ok') {
      if (answer.token > this.highest) this.highest = answer.token;
      this.have.set(key, answer.token);
      this.held.set(key, { holder, token: answer.token });
    }
    return `acquire ${answer.status}`;
  }
}

let redis: Redis;
beforeAll(() => {
  redis = new Redis(process.env['REDIS_URL']!);
});
afterAll(() => redis.quit());

it.each([5000, 0])('Lua and TypeScript agree, with a loss window of %s ms', async (windowMs) => {
  const seen = new Set<string>();
  let walkCount = 0;
  const walks = fc.asyncProperty(
    fc.array(step, { minLength: 20, maxLength: 60 }),
    async (steps) => {
      const key = `lock-agreement:{${windowMs} ${walkCount++}}`;
      await redis.del(key, `${key}:kept`);
      const twin = new LockTwin(redis, key, windowMs);
      const walk = new Walk(twin);
      for (const taken of steps) {
        seen.add(await walk.take(taken));
        expect(twin.fromRedis.at(-1)).toEqual(twin.fromRules.at(-1));
      }
      const [ours, theirs] = await twin.states();
      expect(theirs).toEqual(ours);
      await redis.del(key, `${key}:kept`);
    },
  );
  await fc.assert(walks, { numRuns: 80 });
  // The walks must produce every kind of answer, or they prove little.
  const answers = ['acquire ok', 'acquire held', 'acquire wait', 'extend ok', 'extend lost'];
  expect([...seen]).toEqual(expect.arrayContaining([...answers, 'released', 'other']));
});
