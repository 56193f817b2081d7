/**
 * Processes that use one store of rows concurrently, in an order drawn from a seed. The steps of
 * different processes interleave in any way. In between, the store loses data, loses rows, and has
 * its clock set back.
 *
 * Detects two holders of one worker ID with overlapping ranges.
 */
import type { LeaseRequest, WorkerLease } from '../../lib/lease/distributed-support.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { turn as settled } from '../../lib/time/timers.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { WalkStore, type StoreFault, type WalkMoment } from './walk-store.js';

const PROCESS_COUNT = 4;
const WORKER_COUNT = 2;
const STEP_COUNT = 500;
/** How far the store's clock goes back at most, which is the store's loss window. */
const BACK_MS_MAX = 9000;
const TTL_MS = 10_000;
const TERMS = { fingerprint: 'f', ttlMs: TTL_MS, minRangeMs: 50, quarantineMs: 0 };

interface Range {
  readonly token: string;
  readonly floorMs: number;
  ceilingMs: number;
}

interface Process {
  lease: WorkerLease | undefined;
  token: string;
  /** Repeated until it has an answer. */
  request: LeaseRequest | undefined;
  /** Calls so far. The answer to an abandoned call does not count. */
  callCount: number;
  /** Answers no longer reach it. */
  isGone: boolean;
  isBusy: boolean;
}

/** A paused process, and the step at which it resumes. */
interface Standing {
  readonly goesOn: () => void;
  readonly untilStep: number;
}

export interface WalkResult {
  readonly overlaps: readonly string[];
  readonly grantCount: number;
}

export async function walk(seed: number, fault?: StoreFault): Promise<WalkResult> {
  return new Walk(seed, fault).run();
}

class Walk {
  private readonly chance: SeededRandom;
  private readonly forgets: boolean;
  private readonly waiting: (() => void)[] = [];
  private standing: Standing[] = [];
  private readonly moment: WalkMoment = { timeMs: 1_800_000_000_000, serverCount: 0 };
  private readonly store: WalkStore;
  private readonly support: RegistrySupport;
  private readonly ranges = new Map<number, Range[]>();
  private readonly overlaps: string[] = [];
  private copy: ReturnType<WalkStore['copy']> = new Map();
  private highestMs = 0;
  private count = 0;
  private grantCount = 0;

  constructor(seed: number, fault?: StoreFault) {
    this.chance = new SeededRandom(seed);
    this.forgets = seed % 2 === 0;
    const turn = () => new Promise<void>((resolve) => this.waiting.push(resolve));
    this.store = new WalkStore({ moment: this.moment, turn, fault, lossWindowMs: BACK_MS_MAX });
    const after = (_: number, run: () => void) => this.waiting.push(run);
    const timers = { after, every: after, cancel: () => undefined };
    this.support = new RegistrySupport(this.store, { timers, random: () => this.chance.next() });
  }

  async run(): Promise<WalkResult> {
    const processes = Array.from({ length: PROCESS_COUNT }, () => this.newProcess());
    for (let step = 0; step < STEP_COUNT; step++) {
      const at = this.draw(PROCESS_COUNT);
      if (this.chance.chance(0.01)) {
        processes[at]!.isGone = true;
        processes[at] = this.newProcess();
      }
      if (!processes[at]!.isBusy) this.begin(processes[at]!);
      else if (this.chance.chance(0.05)) this.giveUp(processes[at]!);
      if (this.chance.chance(0.02)) this.befall();
      await settled();
      this.next(step);
      this.moment.timeMs += this.draw(600);
      this.highestMs = Math.max(this.highestMs, this.moment.timeMs);
    }
    const { overlaps, grantCount } = this;
    return { overlaps, grantCount };
  }

  /** A process takes a step. Some are paused while much happens between two of their steps. */
  private next(step: number): void {
    const [goesOn] = this.waiting.splice(this.draw(this.waiting.length), 1);
    if (goesOn !== undefined && this.chance.chance(0.03)) {
      this.standing.push({ goesOn, untilStep: step + this.draw(150) });
    } else {
      goesOn?.();
    }
    const isOver = ({ untilStep }: Standing) => untilStep <= step;
    for (const { goesOn: awakened } of this.standing.filter(isOver)) this.waiting.push(awakened);
    this.standing = this.standing.filter((one) => !isOver(one));
  }

  private befall(): void {
    if (this.forgets) this.loseData();
    else this.loseRows();
  }

  /** May also delete the header with its time, so the clock goes back only within the window. */
  private loseData(): void {
    const what = this.draw(6);
    if (what === 0) this.copy = this.store.copy();
    if (what === 1) this.store.replace(this.copy);
    if (what === 2) this.store.remove(() => true);
    if (what === 3) this.store.remove((key) => key === HEADER_KEY);
    if (what === 4) this.loseRow();
    if (what === 5) this.moment.timeMs = this.highestMs - this.draw(BACK_MS_MAX);
  }

  /** Loses everything except the header, or sets the clock back by up to a minute. */
  private loseRows(): void {
    const what = this.draw(4);
    if (what === 0) this.store.replace(this.store.copy());
    if (what === 1) this.loseRow();
    if (what === 2) this.store.remove((key) => key !== HEADER_KEY);
    if (what === 3) this.moment.timeMs -= this.draw(60_000);
  }

  private loseRow(): void {
    const lost = String(this.draw(WORKER_COUNT));
    this.store.remove((key) => key === lost);
  }

  private newProcess(): Process {
    const token = `token ${++this.count}`;
    const none = { lease: undefined, request: undefined };
    return { ...none, token, callCount: 0, isGone: false, isBusy: false };
  }

  /** It repeats its request while the first one may still get an answer. */
  private giveUp(process: Process): void {
    if (process.request === undefined) return;
    process.callCount++;
    process.isBusy = false;
  }

  private begin(process: Process): void {
    process.isBusy = true;
    const { lease, callCount } = process;
    const asked = lease === undefined ? this.acquire(process) : this.goOn(process, lease);
    asked
      .catch(() => undefined)
      .finally(() => {
        if (process.callCount === callCount) process.isBusy = false;
      });
  }

  private goOn(process: Process, lease: WorkerLease): Promise<void> {
    return this.chance.chance(0.1) ? this.release(process, lease) : this.renew(process, lease);
  }

  private async acquire(process: Process): Promise<void> {
    const { token, callCount } = process;
    const request = (process.request ??= this.newRequest(token));
    const answer = await this.support.getNextWorkId({ ...request });
    if (process.isGone || process.callCount !== callCount) return;
    process.request = undefined;
    if (answer.status !== 'ok') return;
    const { workerId, ceilingMs: haveMs, mark } = answer;
    this.granted(workerId, { token, floorMs: answer.floorMs, ceilingMs: haveMs });
    const nonceNext = `n${++this.count}`;
    process.lease = { ...request, workerId, nonceNext, haveMs, mark: mark! };
  }

  private newRequest(token: string): LeaseRequest {
    const claimed = this.chance.chance(0.1) ? this.draw(WORKER_COUNT) : undefined;
    return {
      ...TERMS,
      token,
      nonce: 'n',
      workerIdMin: claimed ?? 0,
      workerIdMax: claimed ?? WORKER_COUNT - 1,
      takesOver: claimed !== undefined,
      haveMs: 0,
      holder: { host: 'h', pid: 1, application: 'a' },
    };
  }

  private async renew(process: Process, lease: WorkerLease): Promise<void> {
    const answer = await this.support.refreshAlive(lease);
    if (process.isGone) return;
    if (answer.status === 'ok') {
      const { ceilingMs, floorMs, mark } = answer;
      this.granted(lease.workerId, { token: lease.token, floorMs, ceilingMs });
      const haveMs = Math.max(lease.haveMs, ceilingMs);
      const nonceNext = `n${++this.count}`;
      process.lease = { ...lease, nonce: lease.nonceNext, nonceNext, haveMs, mark: mark! };
    } else if (answer.status !== 'hold') {
      this.leave(process);
    }
  }

  private async release(process: Process, lease: WorkerLease): Promise<void> {
    const mine = this.ranges.get(lease.workerId)!.filter(({ token }) => token === lease.token);
    const last = mine.at(-1)!;
    const lastIssuedMs = last.floorMs + this.draw(last.ceilingMs - last.floorMs);
    this.leave(process);
    // It generates no more IDs, whatever the result of the release.
    for (const range of mine) range.ceilingMs = Math.min(range.ceilingMs, lastIssuedMs + 1);
    await this.support.release(lease, lastIssuedMs);
  }

  private leave(process: Process): void {
    process.lease = undefined;
    process.token = `token ${++this.count}`;
  }

  private granted(workerId: number, range: Range): void {
    this.grantCount++;
    const known = this.ranges.get(workerId) ?? [];
    this.ranges.set(workerId, known);
    const other = known.find(({ token, floorMs, ceilingMs }) => {
      const isBoth = Math.max(floorMs, range.floorMs) < Math.min(ceilingMs, range.ceilingMs);
      return isBoth && token !== range.token;
    });
    if (other) this.overlaps.push(`${workerId}: ${textOf(other)} and ${textOf(range)}`);
    const same = known.find((mine) => mine.token === range.token && mine.floorMs === range.floorMs);
    if (same) same.ceilingMs = range.ceilingMs;
    else known.push({ ...range });
  }

  private draw(count: number): number {
    return Math.floor(this.chance.next() * count);
  }
}

function textOf({ token, floorMs, ceilingMs }: Range): string {
  return `${token} [${floorMs}, ${ceilingMs})`;
}
