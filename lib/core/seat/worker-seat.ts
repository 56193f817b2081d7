/**
 * The seat: where the lease meets the generator.
 *
 * It holds the ranges of ticks in which ids of a worker id may be made. The lease fills it (grant,
 * raise, rewindTo, vacate), generators sit in it (current, follow, next, take, moveOn), one or, in
 * shared memory, one in each thread.
 * Promise: no tick outside a granted range is ever offered, and no id to two generators. No timer
 * has to fire for that.
 */
import { SnowflakeError } from '../../errors.js';
import type { BitLayout } from '../layout/bit-layout.js';
import { IdWords } from '../id-words.js';
import { noteReach } from './reach.js';
import { SeatMemory, type StoredRange } from './seat-memory.js';

/** "Worker id 7, for ids whose time lies in [floor, ceiling)", Unix ms. */
export interface WorkerRange {
  readonly workerId: number;
  /** Inclusive; -Infinity where no registry knows any better. */
  readonly floorMs: number;
  /** Exclusive; Infinity for a worker id that is owned without end. */
  readonly ceilingMs: number;
}

/** A range in ticks, as one thread sees it. */
export interface SeatedRange {
  /** 1, 2, 3 in the order in which the ranges were granted. */
  readonly number: number;
  readonly workerId: number;
  readonly floorTick: number;
  ceilingTick: number;
  /** Half of what was left at the last grant; reaching it asks for more. */
  halfTick: number;
  /** True when ids may go back in time on entering it: an intended switch after a rollback. */
  readonly rewinds: boolean;
}

/** The next free id of a range. */
export interface FreePlace {
  readonly tick: number;
  readonly sequence: number;
  /** Both in one number, as it lies in memory. */
  readonly cursor: bigint;
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
  watch = NO_WATCH;
  /** Called when this thread has changed what may be made: by a range, a ceiling, or an end. */
  onChange: () => void = () => undefined;
  private seated: SeatedRange | undefined;
  /** The ranges granted by this thread that are not passed yet. */
  private granted: SeatedRange[] = [];
  private readonly reserveTicks: number;
  private readonly sequenceCount: number;
  private readonly ticksPerHighWord: number;
  /** A place in a range as one number, `tick * sequenceCount + sequence`, and its two words. */
  private readonly place = new IdWords();
  private refusal: (() => SnowflakeError) | undefined;

  constructor(
    readonly layout: BitLayout,
    /**
     * The end of the last range is kept for a time when the store is away: the ids stop following
     * the clock there and are made from the sequence alone, 4096 for each ms of reserve.
     */
    readonly reserveMs = 0,
    public memory = new SeatMemory(),
  ) {
    this.reserveTicks = Math.ceil(reserveMs / layout.unitMs);
    this.sequenceCount = layout.sequence.max + 1;
    this.ticksPerHighWord = 2 ** 32 / this.sequenceCount;
  }

  /** The range in use; another object as soon as ids taken before must not be made any more. */
  get current(): SeatedRange | undefined {
    const { seated } = this;
    return seated !== undefined && seated.number === this.memory.current ? seated : this.sitDown();
  }

  /** Adds a range behind those still in use. */
  grant(range: WorkerRange): SeatedRange {
    const seated = this.publish(range, false);
    this.onChange();
    return seated;
  }

  /** Replaces every range at once; the next id may be older than the last one. */
  rewindTo(range: WorkerRange): SeatedRange {
    const seated = this.publish(range, true);
    this.memory.skipTo(seated.number);
    this.onChange();
    return seated;
  }

  /** A ceiling only ever rises. */
  raise(range: SeatedRange, ceilingMs: number): void {
    range.ceilingTick = Math.max(range.ceilingTick, this.ceilingTickOf(ceilingMs));
    range.halfTick = halfway(this.lastTickOf(range) ?? range.floorTick, range.ceilingTick);
    this.memory.raise(range.number, range.ceilingTick);
    this.onChange();
    noteReach(this.layout.msOf(range.ceilingTick));
  }

  /** From here on no id can be made until a range is granted; `refusal` says why. */
  vacate(refusal: () => SnowflakeError): void {
    this.refusal = refusal;
    this.memory.skipTo(this.memory.newest + 1);
    this.onChange();
  }

  /** The same for good: every thread on this memory learns that no range will follow. */
  close(refusal: () => SnowflakeError): void {
    this.memory.isClosed = true;
    this.vacate(refusal);
  }

  /** The same for this thread alone, which shares the memory with the one that holds the lease. */
  leave(refusal: () => SnowflakeError): void {
    this.refusal = refusal;
    this.seated = undefined;
    this.memory = SeatMemory.closed();
    this.onChange();
  }

  refuse(): never {
    throw this.refusal?.() ?? notSeated(this.memory);
  }

  /** The tick the clock may lead to: with nothing behind the range, its reserve is held back. */
  follow(range: SeatedRange, nowTick: number): number {
    if (this.memory.newest > range.number) return nowTick;
    if (nowTick > range.ceilingTick - this.reserveTicks) this.reread(range);
    return Math.min(nowTick, range.ceilingTick - this.reserveTicks);
  }

  /** The first id of the range that nobody has taken. */
  next(range: SeatedRange): FreePlace {
    const cursor = this.memory.cursor(range.number);
    this.place.id = cursor;
    const { high, low } = this.place;
    const sequence = low % this.sequenceCount;
    const tick = high * this.ticksPerHighWord + (low - sequence) / this.sequenceCount;
    return { tick, sequence, cursor };
  }

  /**
   * Takes the ids of a tick up to `last`, and all before them, for one generator alone; false when
   * another thread was faster.
   */
  take(range: SeatedRange, free: FreePlace, tick: number, last: number): boolean {
    const isWhole = last + 1 === this.sequenceCount;
    const to = isWhole ? this.cursorAt(tick + 1, 0) : this.cursorAt(tick, last + 1);
    if (!this.memory.take(range.number, free.cursor, to)) return false;
    noteReach(this.layout.msOf(tick));
    if (isBeginning(range, free)) this.watch.entered(range);
    if (tick >= range.halfTick) {
      range.halfTick = Infinity;
      this.watch.halfUsed();
    }
    return true;
  }

  /** Gives up a range that is used up for the next one, unless its ceiling has risen. */
  moveOn(range: SeatedRange): void {
    if (this.reread(range) || this.memory.passOn(range.number)) return;
    this.watch.exhausted();
    throw new SnowflakeError(
      'LEASE_LOST',
      `The leased range of worker id ${range.workerId} is used up and could not be ` +
        `prolonged, so no id was made. Ids come back when the store answers; use nextIdAsync() ` +
        `to wait.`,
      { details: { workerId: range.workerId, ceilingMs: this.endMs } },
    );
  }

  /** The tick of the last id taken from a range; undefined when there is none. */
  lastTickOf(range: SeatedRange): number | undefined {
    const free = this.next(range);
    if (isBeginning(range, free)) return undefined;
    return free.sequence > 0 ? free.tick : free.tick - 1;
  }

  /** Exclusive end of the last range, Unix ms; undefined without a range. */
  get endMs(): number | undefined {
    const { memory } = this;
    if (this.current === undefined) return undefined;
    return this.layout.msOf(memory.ceilingTick(memory.newest));
  }

  /** At least how many ids the range in use still has; undefined without one, or without end. */
  idsLeft(nowMs: number): number | undefined {
    const range = this.current;
    if (range === undefined || range.ceilingTick === Infinity) return undefined;
    const free = this.next(range);
    const nowTick = Math.floor((nowMs - this.layout.epochMs) / this.layout.unitMs);
    const tick = Math.max(free.tick, this.follow(range, nowTick));
    const taken = tick === free.tick ? free.sequence : 0;
    return Math.max(0, (range.ceilingTick - tick) * this.sequenceCount - taken);
  }

  private publish(range: WorkerRange, rewinds: boolean): SeatedRange {
    const { workerId, floorMs, ceilingMs } = range;
    const floorTick = Math.ceil((floorMs - this.layout.epochMs) / this.layout.unitMs);
    const stored = { workerId, floorTick, ceilingTick: this.ceilingTickOf(ceilingMs) };
    const cursor = this.cursorAt(beginningOf(stored), 0);
    const number = this.memory.publish(stored, cursor, rewinds);
    noteReach(this.layout.msOf(stored.ceilingTick));
    const seated = seatedRange(number, stored, rewinds);
    this.granted = this.granted.filter((known) => known.number >= this.memory.current);
    this.granted.push(seated);
    return seated;
  }

  private sitDown(): SeatedRange | undefined {
    for (;;) {
      const { settled: current, newest, rewound } = this.memory;
      if (current > newest) return (this.seated = undefined);
      const known = this.granted.find((range) => range.number === current);
      if (known !== undefined) return (this.seated = known);
      const stored = this.memory.read(current);
      if (stored === undefined) continue;
      const seated = seatedRange(current, stored, current === rewound);
      // What is half of it now, not when it was granted: threads come late.
      seated.halfTick = halfway(this.lastTickOf(seated) ?? stored.floorTick, stored.ceilingTick);
      return (this.seated = seated);
    }
  }

  /** True when the thread that holds the lease has raised the ceiling. */
  private reread(range: SeatedRange): boolean {
    const ceilingTick = this.memory.ceilingTick(range.number);
    if (ceilingTick <= range.ceilingTick) return false;
    range.ceilingTick = ceilingTick;
    range.halfTick = halfway(this.lastTickOf(range) ?? range.floorTick, ceilingTick);
    return true;
  }

  private cursorAt(tick: number, sequence: number): bigint {
    const { ticksPerHighWord, sequenceCount, place } = this;
    const high = Math.floor(tick / ticksPerHighWord);
    place.set(high, (tick - high * ticksPerHighWord) * sequenceCount + sequence);
    return place.id;
  }

  private ceilingTickOf(ceilingMs: number): number {
    return Math.floor((ceilingMs - this.layout.epochMs) / this.layout.unitMs);
  }
}

function seatedRange(number: number, stored: StoredRange, rewinds: boolean): SeatedRange {
  return { number, ...stored, halfTick: halfway(stored.floorTick, stored.ceilingTick), rewinds };
}

/** The first tick of a range in which there can be an id. */
function beginningOf({ floorTick }: StoredRange): number {
  return Math.max(0, floorTick);
}

/** True as long as no id of the range was taken. */
function isBeginning(range: SeatedRange, { tick, sequence }: FreePlace): boolean {
  return tick === beginningOf(range) && sequence === 0;
}

/** -Infinity to Infinity has no middle: such a range never asks for more. */
function halfway(from: number, to: number): number {
  return to === Infinity ? Infinity : from + (to - from) / 2;
}

function notSeated({ isClosed }: SeatMemory): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    isClosed
      ? 'The lease was given back, so no id was made.'
      : 'No worker id is held yet, so no id was made. Wait until the application has started, ' +
          'or use nextIdAsync().',
    { retryable: !isClosed },
  );
}
