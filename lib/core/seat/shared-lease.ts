/**
 * One lease for several worker_threads: what is handed to them, and how they take it up.
 *
 * The ids of a tick are taken from shared memory in blocks, by compare-and-swap. Promise: threads
 * get different ids of one worker id; the thread that holds the lease hears from the others what
 * it would hear from its own generator.
 */
import { SnowflakeError, shown } from '../../errors.js';
import { BitLayout } from '../layout/bit-layout.js';
import { systemClock, type Clock } from '../generator/clock.js';
import { AnchoredClock } from './anchored-clock.js';
import type { FieldSpec } from '../layout/layout-fields.js';
import { SeatMemory, isSeatMemory } from './seat-memory.js';
import { SnowflakeGenerator } from '../generator/snowflake-generator.js';
import { WorkerSeat, type SeatWatch } from './worker-seat.js';

/** Plain data that `workerData` and `postMessage` carry to another thread of this process. */
export interface SharedLease {
  readonly memory: SharedArrayBuffer;
  readonly epochMs: number;
  readonly unitMs: number;
  readonly fields: readonly FieldSpec[];
  readonly reserveMs: number;
  /** Undefined where each range decides for itself. */
  readonly aheadMsMax: number | undefined;
  readonly sequenceStart: 'zero' | 'random';
}

type SharedOptions = Pick<SharedLease, 'aheadMsMax' | 'sequenceStart'>;

/** What to hand to other threads; undefined where the seat's memory belongs to this one alone. */
export function shareSeat(seat: WorkerSeat, options: SharedOptions): SharedLease | undefined {
  const { shared: memory } = seat.memory;
  if (memory === undefined) return undefined;
  const { epochMs, unitMs } = seat.layout;
  const fields = seat.layout.fields.map(({ name, bits, role }): FieldSpec => {
    return role === 'call' ? [name, bits, role] : [name, bits];
  });
  return { memory, epochMs, unitMs, fields, reserveMs: seat.reserveMs, ...options };
}

/** True for what shareSeat() gave, also after its way to another thread. */
export function isSharedLease(value: unknown): value is SharedLease {
  const candidate = value as Partial<SharedLease> | null | undefined;
  return typeof candidate === 'object' && isSeatMemory(candidate?.memory);
}

export function sharedLayout({ epochMs, unitMs, fields }: SharedLease): BitLayout {
  return new BitLayout({ epoch: epochMs, unitMs, fields });
}

/** The seat of a thread on another thread's lease. */
export function joinSeat(shared: SharedLease): WorkerSeat {
  const { memory, reserveMs } = shared;
  const seat = new WorkerSeat(sharedLayout(shared), reserveMs, new SeatMemory(memory));
  seat.watch = tellOwner(seat.memory);
  return seat;
}

/**
 * A generator for a worker thread without Nest, on the lease of the thread that started it.
 * @throws SnowflakeError CONFIG_INVALID for anything but `IdMaker.sharedLease`, which cannot be
 * sent to another process.
 * @example
 * ```ts
 * import { workerData } from 'node:worker_threads';
 * import { joinSharedLease, type SharedLease } from 'nestjs-snowflake/core';
 *
 * const ids = joinSharedLease((workerData as { ids: SharedLease }).ids);
 * ids.nextIdString();
 * ```
 */
export function joinSharedLease(shared: SharedLease, clock: Clock = systemClock) {
  if (!isSharedLease(shared)) throw notShared(shared);
  const seat = joinSeat(shared);
  const options = { ...shared, clock: new AnchoredClock(clock, seat.memory) };
  return new SnowflakeGenerator(seat, options);
}

export function notShared(value: unknown): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Expected the \`sharedLease\` of an IdMaker, as workerData or postMessage hands it to a ` +
      `worker thread, got ${shown(value)}. It cannot be sent to another process: let each ` +
      `process lease a worker id of its own.`,
  );
}

/** Flags in the shared memory. */
const ENTERED = 1;
const HALF_USED = 2;
const EXHAUSTED = 4;

function tellOwner(memory: SeatMemory): SeatWatch {
  return {
    entered: () => memory.tell(ENTERED),
    halfUsed: () => memory.tell(HALF_USED),
    exhausted: () => memory.tell(EXHAUSTED),
  };
}

/** Hands on what other threads tell, until the lease is given back. */
export async function hearThreads(seat: WorkerSeat): Promise<void> {
  const { memory } = seat;
  while (!memory.isClosed) {
    await memory.newsToCome();
    try {
      handOn(memory.takeNews(), seat);
    } catch {
      // The logger of an application may throw, and must not end the hearing.
    }
  }
}

function handOn(news: number, { current, watch }: WorkerSeat): void {
  if (current && news & ENTERED) watch.entered(current);
  if (news & HALF_USED) watch.halfUsed();
  if (news & EXHAUSTED) watch.exhausted();
}
