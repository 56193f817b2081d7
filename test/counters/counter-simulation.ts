/**
 * Processes take from counters while the store loses data. An old server continues for a while next
 * to its successor, two losses occur within one window, clocks step, messages arrive late or
 * repeatedly, and processes crash or return positions.
 *
 * The simulation searches for duplicate positions. It excludes cases without a guarantee: a loss of
 * writes older than `LOSS_WINDOW_MS`, a clock set forward around a loss, and a flush under a clock
 * behind earlier grants. A grant without a received response does not count.
 */
import { CounterMap, type CounterState } from '../models/counter-map.js';
import {
  type TakeAnswer,
  type TakeGrant,
  type TakeRequest,
  namedGrant,
} from '../../lib/counters/counter-store.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';

export const LOSS_WINDOW_MS = 2000;
const STEP_COUNT = 400;
const STEP_MS = [0, 1, 20, 100, 400] as const;
/** Sometimes no process asks, as at night. */
const IDLE_MS = [1500, 6000, 20_000] as const;
const PROCESS_COUNT = 4;
const LOSS_GAPS = [100n, 400n] as const;
const CLOCK_DIFFERENCE_MS = 100;

interface Server {
  readonly map: CounterMap;
  readonly name: string;
  offsetMs: number;
}

interface Interval {
  readonly first: bigint;
  end: bigint;
}

interface Process {
  have: bigint;
  /** How far the counter's clock was ahead of the elapsed time. */
  aheadMs: number | undefined;
  last: { grant: TakeGrant; interval: Interval } | undefined;
}

export interface SimulationResult {
  /** The properties that follow from the seed before the first step. */
  readonly drawn: { readonly isClock: boolean; readonly isFlushed: boolean };
  readonly twice: readonly string[];
  readonly grantCount: number;
  readonly lossCount: number;
}

export function simulate(seed: number): SimulationResult {
  return new Simulation(seed).run();
}

const newProcess = (): Process => ({ have: 0n, aheadMs: undefined, last: undefined });

class Simulation {
  private readonly random: SeededRandom;
  private readonly isClock: boolean;
  private readonly isFlushed: boolean;
  private timeMs = 1_800_000_000_000;
  private server: Server = { map: new CounterMap(), name: 'server 1', offsetMs: 0 };
  /** A server that has not detected its successor yet. */
  private former: { server: Server; untilMs: number } | undefined;
  private history: { atMs: number; state: CounterState | undefined }[] = [];
  private readonly intervals: Interval[] = [];
  private readonly late: { atMs: number; run: () => void }[] = [];
  private readonly processes: Process[] = [];
  private readonly twice: string[] = [];
  private highestEnd = 1n;
  private shownMs = 0;
  private steadyFromMs = 0;
  private noForwardUntilMs = 0;
  private count = 0;
  private lossCount = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.isClock = seed % 3 === 0;
    this.isFlushed = seed % 4 === 0;
    for (let at = 0; at < PROCESS_COUNT; at++) this.processes.push(newProcess());
    if (this.isClock) return;
    const reading = this.reading(this.server);
    this.server.map.create({ counter: 'c', start: 1n }, reading);
    this.timeMs += LOSS_WINDOW_MS;
  }

  run(): SimulationResult {
    for (let step = 0; step < STEP_COUNT; step++) {
      this.timeMs += this.random.pick(this.random.chance(0.04) ? IDLE_MS : STEP_MS);
      this.history.push({ atMs: this.timeMs, state: this.server.map.state });
      this.deliver();
      this.act(this.random.pick(this.processes));
      if (this.random.chance(0.05)) this.befall();
    }
    const { isClock, isFlushed, twice, intervals, lossCount } = this;
    const drawn = { isClock, isFlushed };
    return { drawn, twice, grantCount: intervals.length, lossCount };
  }

  private act(process: Process): void {
    const server = this.serverFor();
    const sent = this.random.next();
    if (sent < 0.05) {
      // A crash: the process never uses its buffer, and loses its state.
      Object.assign(process, newProcess());
    } else if (sent < 0.12 && process.last !== undefined) {
      this.giveBack(process, server);
    } else {
      this.take(process, server);
      // Repeats the message later, to the server current by then; no process receives the response.
      if (this.random.chance(0.05)) {
        const request = this.request(process);
        this.later(() => void this.asked(request, this.serverFor()));
      }
    }
  }

  private take(process: Process, server: Server): void {
    const askedAtMs = this.timeMs;
    const answer = this.asked(this.request(process), server);
    const heard = () => this.hear(process, answer, askedAtMs);
    const fate = this.random.next();
    if (fate < 0.7) heard();
    else if (fate < 0.9) this.later(heard);
  }

  private asked(request: TakeRequest, server: Server): TakeAnswer {
    const answer = server.map.take(request, this.reading(server));
    const operator = this.begins(answer);
    if (operator !== undefined) server.map.create(operator, this.reading(server));
    if (answer.status !== 'ok') return answer;
    if (answer.end > this.highestEnd) this.highestEnd = answer.end;
    this.shownMs = Math.max(this.shownMs, answer.nowMs!);
    return answer;
  }

  /** The response arrives, and from now on the positions are in use. */
  private hear(process: Process, answer: TakeAnswer, askedAtMs: number): void {
    if ('nowMs' in answer) {
      const aheadMs = answer.nowMs! - askedAtMs;
      const isLater = aheadMs > (process.aheadMs ?? -Infinity);
      if (isLater || answer.status === 'ok') process.aheadMs = aheadMs;
    }
    if (answer.status !== 'ok') return;
    const { first, end } = answer;
    const other = this.intervals.find((one) => one.first < end && first < one.end);
    if (other) this.twice.push(`[${first}, ${end}) and [${other.first}, ${other.end})`);
    const interval = { first, end };
    this.intervals.push(interval);
    if (end > process.have) process.have = end;
    process.last = { grant: answer, interval };
  }

  private request({ have, aheadMs }: Process): TakeRequest {
    const count = BigInt(this.random.between(1, 150));
    if (this.isClock) {
      const reckonedMs = aheadMs === undefined ? undefined : this.timeMs + aheadMs;
      const terms = { perMs: 16, aheadMs: 1500, reckonedMs };
      return { kind: 'clock', counter: 'c', count: count * 2000n, have, ...terms };
    }
    const lossGap = this.random.pick(LOSS_GAPS);
    return { kind: 'dense', counter: 'c', count, have, lossGap };
  }

  /** An operator recreates a flushed counter above all earlier grants. */
  private begins(answer: TakeAnswer): { counter: string; start: bigint } | undefined {
    if (answer.status !== 'absent' || this.random.chance(0.5)) return undefined;
    return { counter: 'c', start: this.highestEnd };
  }

  private giveBack(process: Process, server: Server): void {
    const { grant, interval } = process.last!;
    const count = interval.end - interval.first;
    if (count < 1n) return;
    const unused = BigInt(this.random.between(1, Number(count)));
    interval.end -= unused;
    process.have = 0n;
    process.last = undefined;
    const named = namedGrant(grant.grant)!;
    const tell = (to: Server) => void to.map.giveBack(named, unused, this.reading(to));
    if (this.random.chance(0.7)) tell(server);
    if (this.random.chance(0.5)) this.later(() => tell(this.serverFor()));
  }

  private befall(): void {
    const what = this.random.next();
    if (what < 0.6) this.lose();
    else if (what < 0.8) this.server.offsetMs -= this.random.pick([50, 3000, 3_600_000]);
    else if (what < 0.85 && this.isFlushed) this.flush();
    else this.stepForward();
  }

  /** Another server takes over with older data. */
  private lose(): void {
    if (this.timeMs < this.steadyFromMs || this.former !== undefined) return;
    const sinceMsMax = LOSS_WINDOW_MS - CLOCK_DIFFERENCE_MS;
    const sinceMs = this.random.pick([0, sinceMsMax, this.random.between(0, sinceMsMax)]);
    const known = this.history.filter(({ atMs }) => atMs >= this.timeMs - sinceMs);
    const state = known.length > 0 ? known[0]!.state : this.server.map.state;
    const map = new CounterMap();
    map.state = state;
    const offsetMs = this.server.offsetMs - this.random.between(0, CLOCK_DIFFERENCE_MS);
    if (this.random.chance(0.6)) {
      const untilMs = this.timeMs + sinceMsMax - sinceMs;
      this.former = { server: this.server, untilMs };
    }
    this.lossCount++;
    this.server = { map, name: `server ${this.lossCount + 1}`, offsetMs };
    this.history = [{ atMs: this.timeMs, state }];
    this.noForwardUntilMs = this.timeMs + LOSS_WINDOW_MS;
  }

  /** All data are lost, under a correct clock. */
  private flush(): void {
    if (this.former !== undefined) return;
    const behindMs = this.shownMs - (this.timeMs + this.server.offsetMs);
    this.server.offsetMs += Math.max(0, behindMs);
    this.server.map.state = undefined;
    this.history = [{ atMs: this.timeMs, state: undefined }];
  }

  private stepForward(): void {
    if (this.timeMs < this.noForwardUntilMs || this.former !== undefined) return;
    this.server.offsetMs += this.random.pick([1000, 3_600_000]);
    this.steadyFromMs = this.timeMs + 2 * LOSS_WINDOW_MS;
  }

  private serverFor(): Server {
    if (this.former !== undefined && this.timeMs > this.former.untilMs) this.former = undefined;
    if (this.former === undefined || this.random.chance(0.5)) return this.server;
    return this.former.server;
  }

  private later(run: () => void): void {
    this.late.push({ atMs: this.timeMs + this.random.between(1, 3000), run });
  }

  private deliver(): void {
    const isDue = ({ atMs }: { atMs: number }) => atMs <= this.timeMs;
    for (const { run } of this.late.filter(isDue)) run();
    this.late.splice(0, Infinity, ...this.late.filter((one) => !isDue(one)));
  }

  private reading({ name: server, offsetMs }: Server) {
    const random = `r${++this.count}`;
    const timeMs = this.timeMs + offsetMs;
    return { timeMs, server, random, lossWindowMs: LOSS_WINDOW_MS };
  }
}
