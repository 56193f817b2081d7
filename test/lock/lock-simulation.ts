/**
 * Processes that run under locks while their store loses data, an older server continues next to
 * its successor, and clocks step. The processes pause, sleep and crash.
 *
 * It detects two holders of one lock before their deadlines, and tokens that do not increase. It
 * avoids events that no promise covers: a loss of writes older than the loss window, and a process
 * with two wrong clocks at once. The store's clock takes no small step forward, none before the
 * next caller's answer, and none right after a step back.
 */
import type { Clock } from '../../lib/core/clock.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockSection } from '../../lib/lock/held-section.js';
import type { CallerClocks, LockStore } from '../../lib/lock/lock-store.js';
import { LockMap, type LockState } from '../models/lock-map.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { nowAt } from '../../lib/rows/store-clock.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import type { TimerHandle, Timers } from '../../lib/time/timers.js';
const LOSS_WINDOW_MS = 500;
const CLOCK_DIFFERENCE_MS = 100;
const TTL_MS = 600;
const PROCESS_COUNT = 4;
const LOCKS = ['a', 'b'] as const;

interface Server {
  readonly map: LockMap;
  readonly name: string;
  offsetMs: number;
  /** The forward step of its clock since the last request. */
  steppedMs?: number;
}

interface Live {
  readonly process: SimulatedProcess;
  readonly section: LockSection;
}

export interface LockSimulationResult {
  readonly twice: readonly string[];
  readonly sectionCount: number;
  readonly lossCount: number;
  readonly lostCount: number;
  /** Steps of the store's clock forward. */
  readonly steppedCount: number;
  /** Writes to a resource without token checks, after one with a higher token. */
  readonly outOfOrderCount: number;
  /** The same for a resource that refuses lower tokens. */
  readonly fencedOutOfOrderCount: number;
  readonly refusedCount: number;
  /** The largest number of simultaneous holders of one lock. */
  readonly mostCount: number;
}

export interface LockSimulationOptions {
  readonly seed: number;
  readonly stepCount?: number;
  /** How many processes may hold each lock at once; default 1. */
  readonly permits?: number;
}

export function simulate(options: LockSimulationOptions): Promise<LockSimulationResult> {
  return new Simulation(options).run();
}

/** A resource that is written under locks, with the token of the last write. */
class Resource {
  private lastToken = 0n;
  outOfOrderCount = 0;
  refusedCount = 0;

  constructor(private readonly asksForTokens: boolean) {}

  write(token: bigint): void {
    if (token < this.lastToken) {
      if (this.asksForTokens) {
        this.refusedCount++;
        return;
      }
      this.outOfOrderCount++;
    }
    this.lastToken = token;
  }
}

class Simulation {
  private readonly time = new SettableTime();
  private readonly random: SeededRandom;
  private readonly stepCount: number;
  private readonly permits: number;
  private mostCount = 0;
  private server: Server = { map: new LockMap(), name: 'server 1', offsetMs: 0 };
  /** A server that has not detected its successor yet. */
  private former: { server: Server; untilMs: number } | undefined;
  private history: { atMs: number; state: LockState | undefined }[] = [];
  private readonly processes: SimulatedProcess[] = [];
  private readonly live = new Map<string, Set<Live>>(LOCKS.map((lock) => [lock, new Set()]));
  private readonly lastTokens = new Map<string, bigint>();
  private readonly resources = new Map<string, { open: Resource; fenced: Resource }>();
  private readonly twice: string[] = [];
  private sectionCount = 0;
  private lossCount = 0;
  private lostCount = 0;
  private steppedCount = 0;
  private randomCount = 0;
  private isOver = false;

  constructor({ seed, stepCount = 200, permits = 1 }: LockSimulationOptions) {
    this.random = new SeededRandom(seed);
    this.permits = permits;
    this.stepCount = stepCount;
  }

  async run(): Promise<LockSimulationResult> {
    for (let at = 0; at < PROCESS_COUNT; at++) this.begin();
    for (let step = 0; step < this.stepCount; step++) {
      await this.time.advance(this.random.pick([1, 20, 100, 200]));
      this.remember();
      if (this.random.chance(0.04)) this.befall();
      if (this.random.chance(0.4)) this.disturb(this.random.pick(this.processes));
    }
    this.isOver = true;
    const all = [...this.resources.values()];
    const sum = (of: (one: (typeof all)[number]) => number) =>
      all.reduce((total, one) => total + of(one), 0);
    const { twice, sectionCount, lossCount, lostCount, steppedCount } = this;
    return {
      twice,
      sectionCount,
      lossCount,
      lostCount,
      steppedCount,
      outOfOrderCount: sum(({ open }) => open.outOfOrderCount),
      fencedOutOfOrderCount: sum(({ fenced }) => fenced.outOfOrderCount),
      refusedCount: sum(({ fenced }) => fenced.refusedCount),
      mostCount: this.mostCount,
    };
  }

  private begin(): void {
    const { time, random } = this;
    const around = { time, random, server: () => this.storeNow(), loss: 0.03 };
    const process = new SimulatedProcess(around, { ttlMs: TTL_MS });
    this.processes.push(process);
    void this.calls(process);
    void this.calls(process);
  }

  /** One caller of a process, which repeats its calls. */
  private async calls(process: SimulatedProcess): Promise<void> {
    while (!this.isOver) {
      await process.pause(this.random.between(0, 100));
      const lock = this.random.pick(LOCKS);
      const waitMs = this.random.pick([0, 500, 3000]);
      await process.locks
        .using(lock, { waitMs, permits: this.permits }, (section) => this.section(process, section))
        .catch((error: unknown) => this.noteFailure(error));
    }
  }

  private noteFailure(error: unknown): void {
    const { code } = error as { code?: string };
    if (code === 'LOCK_LOST') this.lostCount++;
    else if (code !== 'LOCK_HELD' && code !== 'STORE_UNAVAILABLE') this.twice.push(String(error));
  }

  private async section(process: SimulatedProcess, section: LockSection): Promise<void> {
    const { lock, token } = section;
    this.sectionCount++;
    const live = this.live.get(lock)!;
    const own = { process, section };
    this.judge(own, live);
    live.add(own);
    const permit = `${lock} ${section.permit}`;
    const resource = { open: new Resource(false), fenced: new Resource(true) };
    const { open, fenced } = this.resources.get(permit) ?? resource;
    this.resources.set(permit, { open, fenced });
    for (let count = this.random.between(1, 3); count > 0; count--) {
      await process.pause(this.random.pick([5, 50, 400, 900]));
      if (section.leftMs <= 0) break;
      // The process may pause between this check and the write.
      if (this.random.chance(0.1)) process.standStill(3 * TTL_MS);
      await process.pause(1);
      open.write(token);
      fenced.write(token);
    }
    live.delete(own);
  }

  /**
   * Each permit has one holder and increasing tokens, so the count of holders is within the limit.
   */
  private judge({ section }: Live, live: ReadonlySet<Live>): void {
    const { lock, permit, token, leftMs } = section;
    if (leftMs <= 0) return;
    const others = [...live].filter(({ process, section: other }) => {
      return !process.isDead && other.leftMs > 0;
    });
    this.mostCount = Math.max(this.mostCount, others.length + 1);
    if (others.length >= this.permits) this.twice.push(`${lock} is held by ${others.length + 1}`);
    for (const { section: other } of others) {
      if (other.permit !== permit) continue;
      this.twice.push(`${lock} ${permit} is held with ${other.token} and ${token}`);
    }
    const name = `${lock} ${permit}`;
    const last = this.lastTokens.get(name) ?? 0n;
    if (token <= last) this.twice.push(`${name} has ${token} after ${last}`);
    this.lastTokens.set(name, token > last ? token : last);
  }

  private disturb(process: SimulatedProcess): void {
    const { random } = this;
    const what = random.next();
    if (what < 0.4) process.cutOff(random.between(TTL_MS, 2 * TTL_MS));
    else if (what < 0.7) process.standStill(random.between(1, 2 * TTL_MS), random.chance(0.3));
    else if (what < 0.9) process.setClock(random.pick([-3_600_000, -800, 800, 3_600_000]));
    else this.crash(process);
  }

  private crash(process: SimulatedProcess): void {
    process.isDead = true;
    this.processes.splice(this.processes.indexOf(process), 1);
    this.begin();
  }

  private befall(): void {
    const what = this.random.next();
    if (what < 0.4) this.lose();
    else if (what < 0.6 && this.server.map.state !== undefined)
      this.server.offsetMs -= this.random.pick([50, 700, 3_600_000]);
    else if (what < 0.8) this.stepForward();
    else this.flush();
  }

  private stepForward(): void {
    if (this.server.map.state === undefined) return;
    const ms = this.random.pick([20_000, 3_600_000]);
    this.server.offsetMs += ms;
    this.server.steppedMs = (this.server.steppedMs ?? 0) + ms;
    this.steppedCount++;
  }

  /** Another server takes over with older data. */
  private lose(): void {
    if (this.former !== undefined) return;
    const sinceMsMax = LOSS_WINDOW_MS - CLOCK_DIFFERENCE_MS;
    const sinceMs = this.random.pick([0, sinceMsMax, this.random.between(0, sinceMsMax)]);
    const known = this.history.find(({ atMs }) => atMs >= this.time.passedMs - sinceMs);
    const state = structuredClone(known === undefined ? this.server.map.state : known.state);
    // An empty server needs a correct clock: see flush.
    if (state === undefined) return;
    const map = new LockMap();
    map.state = state;
    const offsetMs = this.server.offsetMs - this.random.between(0, CLOCK_DIFFERENCE_MS);
    if (this.random.chance(0.6)) {
      this.former = {
        server: this.server,
        untilMs: this.time.passedMs + sinceMsMax - sinceMs,
      };
    }
    this.lossCount++;
    this.server = { map, name: `server ${this.lossCount + 1}`, offsetMs };
    this.history = [{ atMs: this.time.passedMs, state: structuredClone(state) }];
  }

  /** The store loses all data, under a correct clock. */
  private flush(): void {
    const { state } = this.server.map;
    if (this.former !== undefined || state === undefined) return;
    const { lastTimeMs, slewMs } = state.header;
    this.server.offsetMs += Math.max(0, lastTimeMs + slewMs - this.timeMs(this.server));
    this.lossCount++;
    this.server.map.state = undefined;
    this.history = [{ atMs: this.time.passedMs, state: undefined }];
  }

  private remember(): void {
    const atMs = this.time.passedMs;
    this.history.push({ atMs, state: structuredClone(this.server.map.state) });
    this.history = this.history.filter((one) => one.atMs >= atMs - LOSS_WINDOW_MS);
  }

  private storeNow(): LockStore {
    const { former } = this;
    if (former !== undefined && this.time.passedMs > former.untilMs) this.former = undefined;
    const isFormer = this.former !== undefined && this.random.chance(0.5);
    const server = isFormer ? this.former!.server : this.server;
    const { map } = server;
    const read = async ({ clocks }: { readonly clocks?: CallerClocks | undefined }) => {
      const reading = this.reading(server);
      const { steppedMs = 0 } = server;
      const header = map.state?.header;
      // The first caller after a step must have an answer from after the last step back.
      const unsteppedMs = header && nowAt(header, { timeMs: reading.timeMs - steppedMs });
      const isKnown = clocks?.nowMs !== undefined && clocks.nowMs <= unsteppedMs!;
      if (steppedMs > 0 && header !== undefined && !isKnown) return never();
      server.steppedMs = 0;
      return reading;
    };
    return {
      lossWindowMs: LOSS_WINDOW_MS,
      acquire: async (request) => map.acquire(request, await read(request)),
      extend: async (request) => map.extend(request, await read(request)),
      release: async (request) => void map.release(request, await read(request)),
    };
  }

  private timeMs({ offsetMs }: Server): number {
    return 1_800_000_000_000 + Math.floor(this.time.passedMs) + offsetMs;
  }

  private reading(server: Server) {
    const random = `r${++this.randomCount}`;
    const { name } = server;
    return { timeMs: this.timeMs(server), server: name, random, lossWindowMs: LOSS_WINDOW_MS };
  }
}

/*
 * A process that requests locks over a network that delays, loses and repeats messages. It may
 * pause, sleep, be cut off, have its clock set, or crash.
 */

export interface Environment {
  readonly time: SettableTime;
  readonly random: SeededRandom;
  /** The server that a message reaches now. */
  readonly server: () => LockStore;
  /** The share of lost messages, and of duplicated ones. */
  readonly loss: number;
}

const LONGEST_DELAY_MS = 700;

export class SimulatedProcess implements Timers {
  isDead = false;
  private readonly maySleep: boolean;
  readonly locks: DistributedLock;
  private asleepMs = 0;
  private wallMs = 0;
  private stillUntilMs = 0;
  private cutUntilMs = 0;

  constructor(
    private readonly around: Environment,
    options: { readonly ttlMs: number },
  ) {
    const { time, random } = around;
    this.maySleep = random.chance(0.5);
    const clock: Clock = { now: () => Math.floor(time.passedMs) + 1_800_000_000_000 + this.wallMs };
    const monotonic: Clock = { now: () => time.passedMs - this.asleepMs };
    const ports = { clock, monotonic, timers: this, random: () => random.next() };
    this.locks = new DistributedLock(this.link(), { ...options, ...ports, callTimeoutMs: 200 });
  }

  /** Pauses everything for the given time. If it sleeps, its monotonic clock stops too. */
  standStill(ms: number, sleeps = false): void {
    this.stillUntilMs = Math.max(this.stillUntilMs, this.around.time.passedMs + ms);
    if (sleeps && this.maySleep) this.asleepMs += ms;
  }

  /** No message from it arrives for the given time. */
  cutOff(ms: number): void {
    this.cutUntilMs = Math.max(this.cutUntilMs, this.around.time.passedMs + ms);
  }

  /** Never sets both clocks of one process wrong, since a stopwatch relies on one of them. */
  setClock(ms: number): void {
    if (ms > 0 || !this.maySleep) this.wallMs += ms;
  }

  after(ms: number, run: () => void): TimerHandle {
    return this.around.time.after(ms, () => this.whenAwake(run));
  }

  every(ms: number, run: () => void): TimerHandle {
    return this.around.time.every(ms, () => this.whenAwake(run));
  }

  cancel(timer: TimerHandle): void {
    this.around.time.cancel(timer);
  }

  /** Resolves after the given time, or when the process resumes. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.after(ms, resolve));
  }

  private whenAwake(run: () => void): void {
    if (this.isDead) return;
    const leftMs = this.stillUntilMs - this.around.time.passedMs;
    if (leftMs > 0) this.around.time.after(leftMs, () => this.whenAwake(run));
    else run();
  }

  private link(): LockStore {
    return {
      lossWindowMs: 0,
      acquire: (request) => this.sent((store) => store.acquire(request)),
      extend: (request) => this.sent((store) => store.extend(request)),
      release: (request) => this.sent((store) => store.release(request)),
    };
  }

  private async sent<T>(ask: (store: LockStore) => Promise<T>): Promise<T> {
    const { random, server, loss, time } = this.around;
    await this.onTheWay();
    if (random.chance(loss) || time.passedMs < this.cutUntilMs) return never();
    const answer = await ask(server());
    if (random.chance(loss)) void this.onTheWay().then(() => ask(server()));
    if (random.chance(loss)) return never();
    await this.onTheWay();
    await new Promise<void>((resolve) => this.whenAwake(resolve));
    return answer;
  }

  private onTheWay(): Promise<void> {
    const { random, time } = this.around;
    const longestMs = random.pick([4, 4, 4, 80, LONGEST_DELAY_MS]);
    const ms = random.between(1, longestMs);
    return new Promise((resolve) => void time.after(ms, resolve));
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
