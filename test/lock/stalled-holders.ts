/**
 * Sections of many processes under many locks of one store. Some processes stand still between
 * their last look at the lock and their write, for longer than the lock lasts; meanwhile others
 * get it and write. The time of each process, and that of the store, is in the hands of the test.
 */
import { DistributedLock } from '../../lib/lock/distributed-lock.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import { SettableTime } from '../../lib/testing/index.js';
import { codeOf, open } from './held-locks.js';

export interface StalledHolders {
  /** One for each process, on the same locks. */
  readonly stores: readonly LockStore[];
  /** Moves the time of the store. */
  readonly advance: (ms: number) => void;
  /** Takes everything from the store. */
  readonly lose: () => Promise<void>;
  /** What sections do. */
  readonly write: (lock: string, token: bigint) => void;
  readonly lockCount: number;
  readonly roundCount: number;
  readonly seed: number;
}

export interface StallReport {
  /** Sections that ran to their write. */
  sectionCount: number;
  /** Of them those whose process stood still before it. */
  stalledCount: number;
  /** Of those the ones that wrote when another holder had written since. */
  lateCount: number;
  /** Who looked at the clock on waking, and was told that the lock is still held. */
  believedCount: number;
  lossCount: number;
  /** Ends of sections, by code. */
  readonly ends: Record<string, number>;
}

const TTL_MS = 1000;
/** One of five processes, of which half wake before the next holder writes. */
const STALL_CHANCE = 0.2;
/** In one of so many rounds all is lost while somebody stands still. */
const LOSS_ROUNDS = 10;
/** More than what is lost may still be held for. */
const LOSS_MS = 20_000;

class Holder {
  readonly time = new SettableTime();
  readonly locks: DistributedLock;
  stands = false;
  private gate = open();

  constructor(store: LockStore) {
    const monotonic = { now: () => this.time.passedMs };
    const ports = { clock: this.time, monotonic, timers: this.time, random: () => 0.5 };
    this.locks = new DistributedLock(store, { ttlMs: TTL_MS, ...ports });
  }

  standStill(): void {
    this.stands = true;
    this.gate = open();
  }

  get awake(): Promise<void> {
    return this.gate.promise;
  }

  /** Its clock shows what went by; what was about to be written is written; timers come last. */
  async wake(ms: number, ends: readonly Promise<unknown>[]): Promise<void> {
    this.stands = false;
    this.time.wallMs += ms;
    this.gate.resolve();
    await Promise.all(ends);
    this.time.wallMs -= ms;
    await this.time.advance(ms);
  }
}

interface Section {
  readonly by: Holder;
  /** It holds the lock. */
  readonly begun: Promise<unknown>;
  readonly end: Promise<unknown>;
}

export class StallRun {
  readonly report: StallReport = {
    sectionCount: 0,
    stalledCount: 0,
    lateCount: 0,
    believedCount: 0,
    lossCount: 0,
    ends: {},
  };
  private readonly holders: readonly Holder[];
  private readonly random: SeededRandom;

  constructor(private readonly parts: StalledHolders) {
    this.random = new SeededRandom(parts.seed);
    this.holders = parts.stores.map((store) => new Holder(store));
  }

  async run(): Promise<StallReport> {
    await this.waitOut(this.holders);
    for (let round = 0; round < this.parts.roundCount; round++) await this.round(round);
    await Promise.all(this.holders.map(({ locks }) => locks.close()));
    return this.report;
  }

  /** Each lock is held twice: by a process that may stand still, and by one that does not. */
  private async round(round: number): Promise<void> {
    const { holders, random, report, parts } = this;
    // One of them always goes on.
    const still = holders.slice(1).filter(() => random.chance(STALL_CHANCE));
    const awake = holders.filter((holder) => !still.includes(holder));
    for (const holder of still) holder.standStill();
    const first = this.begin((at) => holders[(at + round) % holders.length]!);
    await Promise.all(first.map(({ begun }) => begun));
    const stalled = first.filter(({ by }) => by.stands);
    report.stalledCount += stalled.length;
    await Promise.all(first.filter(({ by }) => !by.stands).map(({ end }) => end));
    let ms = TTL_MS + 1;
    await this.pass(ms, awake);
    if (round % LOSS_ROUNDS === LOSS_ROUNDS - 1) {
      report.lossCount++;
      await parts.lose();
      ms += await this.waitOut(awake);
    }
    const early = new Set(still.filter(() => random.chance(0.5)));
    await this.wake([...early], { ms, stalled });
    const second = this.begin((at) => awake[(at * 7 + round) % awake.length]!);
    await Promise.all(second.map(({ end }) => end));
    report.lateCount += stalled.filter(({ by }) => by.stands).length;
    await this.wake(
      still.filter((holder) => !early.has(holder)),
      { ms, stalled },
    );
  }

  /** A section under each lock, all at once. */
  private begin(holderOf: (at: number) => Holder): Section[] {
    return Array.from({ length: this.parts.lockCount }, (_, at) => this.section(holderOf(at), at));
  }

  private section(by: Holder, at: number): Section {
    const { report, parts } = this;
    const held = open();
    const run = async () => {
      const section = await by.locks.tryAcquire(`order:${at}`);
      if (section === undefined) throw new Error('held by somebody else');
      section.assertHeld();
      held.resolve();
      const { stands } = by;
      if (stands) await by.awake;
      if (stands && section.leftMs > 0) report.believedCount++;
      // Nothing that a holder does can stop what it has sent already.
      parts.write(section.lock, section.token);
      report.sectionCount++;
      try {
        section.assertHeld();
      } finally {
        await section.release();
      }
    };
    const end = codeOf(run()).then((code) => {
      const name = String(code);
      report.ends[name] = (report.ends[name] ?? 0) + 1;
    });
    return { by, begun: Promise.race([held.promise, end]), end };
  }

  private async wake(
    holders: readonly Holder[],
    { ms, stalled }: { readonly ms: number; readonly stalled: readonly Section[] },
  ): Promise<void> {
    for (const holder of holders) {
      const ends = stalled.filter(({ by }) => by === holder).map(({ end }) => end);
      await holder.wake(ms, ends);
    }
  }

  private async pass(ms: number, awake: readonly Holder[]): Promise<void> {
    this.parts.advance(ms);
    await Promise.all(awake.map(({ time }) => time.advance(ms)));
  }

  /** A store that is new, or has lost everything, grants nothing until then. @returns how long */
  private async waitOut(awake: readonly Holder[]): Promise<number> {
    const refused = await codeOf(awake[0]!.locks.tryAcquire('first'));
    if (refused !== 'STORE_UNAVAILABLE') throw new Error(`It was not new: ${String(refused)}`);
    await this.pass(LOSS_MS, awake);
    return LOSS_MS;
  }
}
