/**
 * A registry as its rules see it: the records that one operation needs, read at one moment, and
 * the records that it writes out.
 *
 * A store reads a snapshot, applies a rule and writes the changes, header first, then each slot in
 * order, all in one atomic step. It never has to understand what it writes.
 */
import { invariantBroken } from '../errors.js';
import type { LeaseAnswer } from '../lease/distributed-support.js';
import type { HolderLabel } from '../time/process-identity.js';
import type { ClockState } from '../rows/store-clock.js';

export type { StoreReading } from '../rows/row-store.js';

/** The facts of a registry besides its worker ids. */
export interface RegistryHeader extends ClockState {
  readonly version: string;
  /**
   * Empty until the first range is granted; names two layouts if both had one; lists them if the
   * fleet moves from one to the other.
   */
  readonly fingerprint: string;
  readonly incarnation: string;
  readonly server: string;
  /** The longest ttl ever granted plus its loss window: all that can be forgotten ends by then. */
  readonly quarantineMs: number;
  /** No range starts below it. */
  readonly safeFloorMs: number;
  /**
   * A range that begins now starts no lower: what was granted before the last move may last until
   * then, to worker ids that share bits with others. Absent before the first move.
   */
  readonly layoutFloorMs?: number;
  /** Counts losses of data. */
  readonly era: number;
  /** The era of the last loss that the grants of another server proved, which replaced this one. */
  readonly leftEra?: number;
  readonly operations: number;
}

/** Worker ids that follow each other. */
export interface IdSpan {
  readonly workerIdMin: number;
  /** Inclusive. */
  readonly workerIdMax: number;
}

/** The holder of a worker id. */
export interface SlotHolder {
  readonly token: string;
  /** Empty if copies of the holder were noticed: no copy knows it. */
  readonly nonce: string;
  readonly floorMs: number;
  readonly era: number;
  /** The changes of layouts that the registry had seen when it last granted this; absent for 0. */
  readonly moveCount?: number | undefined;
  readonly sinceMs: number;
  readonly label: HolderLabel;
}

/** A worker id in a registry. */
export interface WorkerSlot {
  readonly workerId: number;
  /** 0 if it was never leased. It outlives every holder. */
  readonly ceilingMs: number;
  readonly holder?: SlotHolder | undefined;
}

export type HeldSlot = WorkerSlot & { readonly holder: SlotHolder };

/** The records that a renewal or a release reads. */
export interface WorkerSnapshot {
  /** Undefined where there is no registry. */
  readonly header: RegistryHeader | undefined;
  readonly slot: WorkerSlot;
}

/** The records that an acquire reads. */
export interface AcquireSnapshot {
  readonly header: RegistryHeader | undefined;
  /** The slot whose holder has the token that asks, if any. */
  readonly held: HeldSlot | undefined;
  /** The slot with the lowest ceiling in the range asked for: free for longest. */
  readonly lowest: WorkerSlot;
}

/** The records to write. */
export interface Changes {
  /** Absent if the header stays as it is. */
  readonly header?: RegistryHeader;
  /** Written in this order, after the header. */
  readonly slots: readonly WorkerSlot[];
}

/** The answer of an operation, given once its changes are written. */
export interface Step extends Changes {
  readonly answer: LeaseAnswer;
}

/** What of a header never falls, as long as it is that of one registry. */
const RISING = ['operations', 'era', 'quarantineMs', 'safeFloorMs', 'layoutFloorMs'] as const;

/** @throws SnowflakeError where a rule asks for what none may; nothing is written then */
export function checkChanges(stored: RegistryHeader | undefined, { header, slots }: Changes): void {
  for (const name of RISING) {
    if (header === undefined || header.incarnation !== stored?.incarnation) break;
    const [from, to] = [stored[name] ?? 0, header[name] ?? 0];
    if (!(to >= from)) throw invariantBroken(`${name} of a registry fell`, { from, to });
  }
  for (const { workerId, ceilingMs, holder } of slots) {
    const { floorMs = -Infinity } = holder ?? {};
    // Whoever asks for a range of 0 ms may be granted an empty one, which does no harm.
    if (floorMs <= ceilingMs) continue;
    throw invariantBroken('a range ends before it begins', { workerId, floorMs, ceilingMs });
  }
}
