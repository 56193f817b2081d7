/**
 * A process that asks for locks over a network that delays, loses and repeats messages, and that
 * may stand still, sleep, be cut off, have its clock set or crash.
 */
import type { Clock } from '../../lib/core/clock.js';
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import type { TimerHandle, Timers } from '../../lib/time/timers.js';
import type { SeededRandom } from '../../lib/testing/contract/harness.js';
import type { SettableTime } from '../../lib/testing/settable-time.js';

export interface Environment {
  readonly time: SettableTime;
  readonly random: SeededRandom;
  /** The server that a message reaches now. */
  readonly server: () => LockStore;
  /** How often a message is lost, and how often one comes twice. */
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

  /** Nothing of it runs for so long; where it sleeps its monotonic clock stands still too. */
  standStill(ms: number, sleeps = false): void {
    this.stillUntilMs = Math.max(this.stillUntilMs, this.around.time.passedMs + ms);
    if (sleeps && this.maySleep) this.asleepMs += ms;
  }

  /** Nothing that it sends arrives for so long. */
  cutOff(ms: number): void {
    this.cutUntilMs = Math.max(this.cutUntilMs, this.around.time.passedMs + ms);
  }

  /** Both clocks of one process are not wrong at once, which is what a stopwatch believes. */
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

  /** Resolves after so long, or when it runs again. */
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
