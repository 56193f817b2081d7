/**
 * The lease window connects the lease and the generator. The lease fills it (grant, raise,
 * rewindTo, vacate), and generators take from it (current, follow, next, take, moveOn), in one
 * thread or in several threads on shared memory.
 *
 * Guarantee: it offers only ticks of granted ranges, and each ID to only one generator.
 */
import { SnowflakeError, tooEarly } from '../../errors.js';
import type { Clock } from '../clock.js';
import type { BitLayout } from '../layout/bit-layout.js';
import {
  beginningOf,
  halfway,
  isBeginning,
  RangeRing,
  windowRange,
  type LeasedRange,
  type WindowRange,
} from './range-ring.js';
import {
  AnchoredClock,
  LeaseSignals,
  PlaceCursor,
  RunAheadCredit,
  WindowWords,
  type FreePlace,
} from './window-memory.js';
export type { LeasedRange, WindowRange };

/** Events that the lease receives, each time they happen. They are rare and off the fast path. */
export interface WindowWatch {
  /** The first ID of a range was generated. */
  entered(range: WindowRange): void;
  /** Half of the range is used up. */
  halfUsed(): void;
  /** A request for an ID failed because every range is used up. */
  exhausted(): void;
}

const NO_WATCH: WindowWatch = { entered() {}, halfUsed() {}, exhausted() {} };

/**
 * Holds the time ranges in which a worker ID may generate IDs. With Nest, the lease fills the
 * window. Without Nest, call grant() once, with a worker ID that no other process uses.
 *
 * @example
 * ```ts
 * import { SnowflakeGenerator, LeaseWindow, layouts } from 'nestjs-snowflake/core';
 *
 * const window = new LeaseWindow(layouts.snowflake());
 * window.grant({ workerId: 7, floorMs: -Infinity, ceilingMs: Infinity });
 * const id = new SnowflakeGenerator(window).nextId();
 * ```
 */
export class LeaseWindow {
  watch = NO_WATCH;
  /** Called after this thread has changed which IDs are allowed: a range, a ceiling, or an end. */
  onChange: () => void = () => undefined;
  /** The signals between the threads on this lease. */
  readonly signals: LeaseSignals;
  /** The run-ahead that the threads on this lease share. */
  readonly credit: RunAheadCredit;
  private ring: RangeRing;
  private inUse: WindowRange | undefined;
  /** The ranges that this thread has granted and that are still in use or to come. */
  private granted: WindowRange[] = [];
  private readonly cursor: PlaceCursor;
  private readonly sequenceCount: number;
  private readonly reserveTicks: number;
  private refusal: (() => SnowflakeError) | undefined;

  constructor(
    readonly layout: BitLayout,
    /**
     * The end of the last range, ms, reserved for when the store is unavailable. In this reserve,
     * IDs no longer follow the clock and use only the sequence. Default 0.
     */
    readonly reserveMs = 0,
    private readonly words = new WindowWords(),
  ) {
    this.ring = new RangeRing(words);
    this.signals = new LeaseSignals(words);
    this.credit = new RunAheadCredit(words);
    this.reserveTicks = Math.ceil(reserveMs / layout.unitMs);
    this.sequenceCount = layout.sequence.max + 1;
    this.cursor = new PlaceCursor(this.sequenceCount);
  }

  /** The memory for other threads; undefined if only this thread uses the window. */
  get sharedMemory(): SharedArrayBuffer | undefined {
    return this.words.shared;
  }

  /** The clock of every generator on this window; the lease may move it for all generators. */
  anchored(clock: Clock): AnchoredClock {
    return new AnchoredClock(clock, this.words);
  }

  /** True if no range will follow: the lease was released, or this thread has stopped. */
  get isClosed(): boolean {
    return this.ring.isClosed;
  }

  /** The number of the range in use. Every ID reads it. */
  get currentNumber(): number {
    return this.ring.current;
  }

  /** The newest range that IDs may enter by going back in time; 0 for none. */
  get rewoundNumber(): number {
    return this.ring.rewound;
  }

  /**
   * The range in use. The object changes as soon as IDs taken earlier must no longer be generated.
   */
  get current(): WindowRange | undefined {
    const { inUse } = this;
    const isCurrent = inUse !== undefined && inUse.number === this.ring.current;
    return isCurrent ? inUse : this.resolveCurrent();
  }

  /** Adds a range after the others. Generators enter it when the others are used up. */
  grant(range: LeasedRange): WindowRange {
    const inUse = this.publish(range, false);
    this.announceChange();
    return inUse;
  }

  /** Replaces every range at once; the next ID may be older than the last one. */
  rewindTo(range: LeasedRange): WindowRange {
    const inUse = this.publish(range, true);
    this.ring.skipTo(inUse.number);
    this.announceChange();
    return inUse;
  }

  /** A ceiling only rises. */
  raise(range: WindowRange, ceilingMs: number): void {
    range.ceilingTick = Math.max(range.ceilingTick, this.ceilingTickOf(ceilingMs));
    range.halfTick = halfway(this.lastTickOf(range) ?? range.floorTick, range.ceilingTick);
    this.ring.raise(range.number, range.ceilingTick);
    this.announceChange();
    noteLatestIdTime(this.layout.msOf(range.ceilingTick));
  }

  /** Allows no ID until a range is granted; `refusal` is the reason. */
  vacate(refusal: () => SnowflakeError): void {
    this.refusal = refusal;
    this.ring.skipTo(this.ring.newest + 1);
    this.announceChange();
  }

  /** Does the same permanently: every thread on this memory sees that no range will follow. */
  close(refusal: () => SnowflakeError): void {
    this.ring.close();
    this.signals.wake();
    this.vacate(refusal);
  }

  /**
   * Closes the window only for this thread, which shares the memory of the thread that holds the
   * lease.
   */
  leave(refusal: () => SnowflakeError): void {
    this.refusal = refusal;
    this.inUse = undefined;
    this.ring = RangeRing.closed();
    this.onChange();
  }

  /** @throws SnowflakeError the error passed to vacate(), or NOT_READY before the first range */
  refuse(): never {
    if (this.refusal !== undefined) throw this.refusal();
    throw this.isClosed ? givenBack() : tooEarly('No worker id is held', this.watch !== NO_WATCH);
  }

  /** Returns the latest tick that the clock may enter, without the reserve of the last range. */
  follow(range: WindowRange, nowTick: number): number {
    if (this.ring.newest > range.number) return nowTick;
    if (nowTick > range.ceilingTick - this.reserveTicks) this.reread(range);
    return Math.min(nowTick, range.ceilingTick - this.reserveTicks);
  }

  /** The first free ID of the range. */
  next(range: WindowRange): FreePlace {
    return this.cursor.read(this.ring.cursor(range.number));
  }

  /**
   * Takes the IDs of a tick up to `last`, and all earlier ones, for one generator; false if another
   * thread was faster.
   */
  take(range: WindowRange, free: FreePlace, tick: number, last: number): boolean {
    const isWhole = last + 1 === this.sequenceCount;
    const to = isWhole ? this.cursor.of(tick + 1, 0) : this.cursor.of(tick, last + 1);
    if (!this.ring.take(range.number, free.cursor, to)) return false;
    noteLatestIdTime(this.layout.msOf(tick));
    if (isBeginning(range, free)) this.watch.entered(range);
    if (tick >= range.halfTick) {
      range.halfTick = Infinity;
      this.watch.halfUsed();
    }
    return true;
  }

  /** Moves from a used-up range to the next one, unless the ceiling has risen. */
  moveOn(range: WindowRange): void {
    if (this.reread(range) || this.ring.passOn(range.number)) return;
    this.watch.exhausted();
    throw usedUp(range.workerId, this.endMs);
  }

  /** The tick of the last ID taken from a range; undefined before the first. */
  lastTickOf(range: WindowRange): number | undefined {
    const free = this.next(range);
    if (isBeginning(range, free)) return undefined;
    return free.sequence > 0 ? free.tick : free.tick - 1;
  }

  /** The exclusive end of the last range, Unix ms; undefined without a range. */
  get endMs(): number | undefined {
    if (this.current === undefined) return undefined;
    return this.layout.msOf(this.ring.ceilingTick(this.ring.newest));
  }

  /** The minimum number of IDs left in the current range; undefined without a range or an end. */
  idsLeft(nowMs: number): number | undefined {
    const range = this.current;
    if (range === undefined || range.ceilingTick === Infinity) return undefined;
    const free = this.next(range);
    const nowTick = this.layout.tickOf(nowMs);
    const tick = Math.max(free.tick, this.follow(range, nowTick));
    const taken = tick === free.tick ? free.sequence : 0;
    return Math.max(0, (range.ceilingTick - tick) * this.sequenceCount - taken);
  }

  private announceChange(): void {
    this.signals.announceChange();
    this.onChange();
  }

  private publish(range: LeasedRange, rewinds: boolean): WindowRange {
    const { workerId, floorMs, ceilingMs } = range;
    const floorTick = Math.ceil((floorMs - this.layout.epochMs) / this.layout.unitMs);
    const stored = { workerId, floorTick, ceilingTick: this.ceilingTickOf(ceilingMs) };
    const cursor = this.cursor.of(beginningOf(stored), 0);
    const number = this.ring.publish(stored, cursor, rewinds);
    noteLatestIdTime(this.layout.msOf(stored.ceilingTick));
    const inUse = windowRange(number, stored, rewinds);
    this.granted = this.granted.filter((known) => known.number >= this.ring.current);
    this.granted.push(inUse);
    return inUse;
  }

  /** Looks up the current range, and builds its object if another thread granted it. */
  private resolveCurrent(): WindowRange | undefined {
    for (;;) {
      const { currentInOrder: current, newest, rewound } = this.ring;
      if (current > newest) return (this.inUse = undefined);
      const known = this.granted.find((range) => range.number === current);
      if (known !== undefined) return (this.inUse = known);
      const stored = this.ring.read(current);
      if (stored === undefined) continue;
      const inUse = windowRange(current, stored, current === rewound);
      // Threads may be late, so this is half of the current remainder, not of the granted range.
      inUse.halfTick = halfway(this.lastTickOf(inUse) ?? stored.floorTick, stored.ceilingTick);
      return (this.inUse = inUse);
    }
  }

  /** True when the thread that holds the lease has raised the ceiling. */
  private reread(range: WindowRange): boolean {
    const ceilingTick = this.ring.ceilingTick(range.number);
    if (ceilingTick <= range.ceilingTick) return false;
    range.ceilingTick = ceilingTick;
    range.halfTick = halfway(this.lastTickOf(range) ?? range.floorTick, ceilingTick);
    return true;
  }

  private ceilingTickOf(ceilingMs: number): number {
    return Math.floor((ceilingMs - this.layout.epochMs) / this.layout.unitMs);
  }
}

/* Errors of a window that rejects an ID. A rejection uses up no ID. */

function usedUp(workerId: number, ceilingMs: number | undefined): SnowflakeError {
  return new SnowflakeError(
    'LEASE_LOST',
    `The leased range of worker id ${workerId} is used up and could not be renewed, so no id ` +
      `was generated. Ids are available again when the store answers. Use nextIdAsync() to wait.`,
    { details: { workerId, ceilingMs } },
  );
}

function givenBack(): SnowflakeError {
  return new SnowflakeError('NOT_READY', 'The lease was given back, so no id was generated.', {
    retryable: false,
  });
}

/*
 * The latest time of any ID that the generators of this process have generated, or may generate
 * under their leases. It widens the range that ID checks accept, and decides nothing else.
 *
 * Guarantee: all copies of the package in a process share one number, which only rises. Each thread
 * has its own number.
 */

const KEY = Symbol.for('nestjs-snowflake:latest-id-time');

const shared = globalThis as { [KEY]?: { ms: number } };
const latest = (shared[KEY] ??= { ms: -Infinity });

/** Unix ms; -Infinity while there is no generator. */
export function latestIdTimeMs(): number {
  return latest.ms;
}

/** Ids up to this time may exist. For an endless range, only its generated IDs count. */
function noteLatestIdTime(ms: number): void {
  if (ms > latest.ms && ms !== Infinity) latest.ms = ms;
}
