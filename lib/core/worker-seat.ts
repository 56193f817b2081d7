/**
 * The seat: where the lease meets the generator.
 *
 * It holds the ranges of ticks in which ids of a worker id may be made. The lease fills it (grant,
 * raise, rewindTo, vacate), the generator sits in it (current, follow, moveOn).
 * Promise: no tick outside a granted range is ever offered. No timer has to fire for that.
 */
import { SnowflakeError } from '../errors.js';
import type { BitLayout } from './bit-layout.js';

/** "Worker id 7, for ids whose time lies in [floor, ceiling)", Unix ms. */
export interface WorkerRange {
  readonly workerId: number;
  /** Inclusive; -Infinity where no registry knows any better. */
  readonly floorMs: number;
  /** Exclusive; Infinity for a worker id that is owned without end. */
  readonly ceilingMs: number;
}

/** A range in ticks, as the generator reads it. */
export interface SeatedRange {
  readonly workerId: number;
  readonly floorTick: number;
  ceilingTick: number;
  /** Half of what was left at the last grant; reaching it asks for more. */
  halfTick: number;
  /** True when ids may go back in time on entering it: an intended switch after a rollback. */
  readonly rewinds: boolean;
  /** True from the first id made in it. */
  entered: boolean;
}

/** What the lease wants to hear of, each time it happens. Called outside the fast path. */
export interface SeatWatch {
  /** The first id of a range was made. */
  entered(range: SeatedRange): void;
  /** Half of the range is used up. */
  halfUsed(): void;
  /** An id was refused because every range is used up. */
  exhausted(): void;
}

const NO_WATCH: SeatWatch = { entered() {}, halfUsed() {}, exhausted() {} };

export class WorkerSeat {
  current: SeatedRange | undefined;
  watch = NO_WATCH;
  /** The tick of the last id; -Infinity before the first. Written by the generator. */
  lastTick = -Infinity;
  private following: SeatedRange[] = [];
  private readonly reserveTicks: number;
  private refusal: () => SnowflakeError = () =>
    new SnowflakeError(
      'NOT_READY',
      'No worker id is held yet, so no id was made. Wait until the application has started, ' +
        'or use nextIdAsync().',
    );

  constructor(
    readonly layout: BitLayout,
    /**
     * The end of the last range is kept for a time when the store is away: the ids stop following
     * the clock there and are made from the sequence alone, 4096 for each ms of reserve.
     */
    readonly reserveMs = 0,
  ) {
    this.reserveTicks = Math.ceil(reserveMs / layout.unitMs);
  }

  /** Adds a range behind those still in use. */
  grant(range: WorkerRange): SeatedRange {
    const seated = this.seat(range, false);
    if (this.current === undefined) this.current = seated;
    else this.following.push(seated);
    return seated;
  }

  /** Replaces every range at once; the next id may be older than the last one. */
  rewindTo(range: WorkerRange): SeatedRange {
    this.following = [];
    return (this.current = this.seat(range, true));
  }

  /** A ceiling only ever rises. */
  raise(range: SeatedRange, ceilingMs: number): void {
    range.ceilingTick = Math.max(range.ceilingTick, this.ceilingTickOf(ceilingMs));
    range.halfTick = halfway(Math.max(range.floorTick, this.lastTick), range.ceilingTick);
  }

  /** From here on no id can be made; `refusal` says why. */
  vacate(refusal: () => SnowflakeError): void {
    this.current = undefined;
    this.following = [];
    this.refusal = refusal;
  }

  refuse(): never {
    throw this.refusal();
  }

  /** The tick the clock may lead to: with nothing behind the range, its reserve is held back. */
  follow(range: SeatedRange, nowTick: number): number {
    if (this.following.length > 0) return nowTick;
    return Math.min(nowTick, range.ceilingTick - this.reserveTicks);
  }

  /** Gives up the current range, which is used up, for the next one. */
  moveOn(): SeatedRange {
    const next = this.following.shift();
    if (next !== undefined) return (this.current = next);
    this.watch.exhausted();
    throw new SnowflakeError(
      'LEASE_LOST',
      `The leased range of worker id ${this.current!.workerId} is used up and could not be ` +
        `prolonged, so no id was made. Ids come back when the store answers; use nextIdAsync() ` +
        `to wait.`,
      { details: { workerId: this.current!.workerId, ceilingMs: this.endMs } },
    );
  }

  /** The generator entered a tick of a range. */
  reached(range: SeatedRange, tick: number): void {
    this.lastTick = tick;
    if (!range.entered) {
      range.entered = true;
      this.watch.entered(range);
    }
    if (tick >= range.halfTick) {
      range.halfTick = Infinity;
      this.watch.halfUsed();
    }
  }

  /** Exclusive end of the last range, Unix ms; undefined without a range. */
  get endMs(): number | undefined {
    const last = this.following.at(-1) ?? this.current;
    return last && this.layout.msOf(last.ceilingTick);
  }

  private seat(range: WorkerRange, rewinds: boolean): SeatedRange {
    const floorTick = Math.ceil((range.floorMs - this.layout.epochMs) / this.layout.unitMs);
    const ceilingTick = this.ceilingTickOf(range.ceilingMs);
    const lastTick = rewinds ? -Infinity : this.lastTick;
    const halfTick = halfway(Math.max(floorTick, lastTick), ceilingTick);
    const { workerId } = range;
    return { workerId, floorTick, ceilingTick, halfTick, rewinds, entered: false };
  }

  private ceilingTickOf(ceilingMs: number): number {
    return Math.floor((ceilingMs - this.layout.epochMs) / this.layout.unitMs);
  }
}

/** -Infinity to Infinity has no middle: such a range never asks for more. */
function halfway(from: number, to: number): number {
  return to === Infinity ? Infinity : from + (to - from) / 2;
}
