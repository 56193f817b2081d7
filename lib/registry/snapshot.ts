/**
 * A registry as its rules see it: the records that one operation needs, read at one moment, and
 * the records that it writes out; and as an operator sees it.
 *
 * A store reads a snapshot, applies a rule and writes the changes, header first, then each slot in
 * order, all in one atomic step. It never has to understand what it writes.
 */
import { invariantBroken } from '../errors.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  WorkerRecord,
} from '../lease/distributed-support.js';
import type { ClockState } from '../rows/store-clock.js';
import type { HolderLabel } from '../time/process-identity.js';

export type { StoreReading } from '../rows/row-store.js';

/** The facts of a registry besides its worker IDs. */
export interface RegistryHeader extends ClockState {
  readonly version: string;
  /**
   * Empty until the first range is granted; names two layouts if both had one; lists them if the
   * fleet moves from one to the other.
   */
  readonly fingerprint: string;
  readonly incarnation: string;
  /**
   * A random text, drawn anew with each loss, by which a copy that is used differs from its
   * original. Absent before the first loss.
   */
  readonly lineage?: string | undefined;
  readonly server: string;
  /** The longest ttl ever granted plus its loss window: all that can be forgotten ends by then. */
  readonly quarantineMs: number;
  /** No range starts below it. */
  readonly safeFloorMs: number;
  /**
   * A range that begins now starts no lower: what was granted before the last move may last until
   * then, to worker IDs that share bits with others. Absent before the first move.
   */
  readonly layoutFloorMs?: number;
  /**
   * Counts losses of data, and all else for which ranges that began lower end; of these a loss
   * alone leaves a lineage.
   */
  readonly era: number;
  /** The era of the last loss that the grants of another server proved, which replaced this one. */
  readonly leftEra?: number;
  /**
   * How far the registry before the last loss was ahead of this one, as far as the floor has moved
   * for it and the clock has not; absent if the clock was moved, or nobody told.
   */
  readonly toldMs?: number | undefined;
  /**
   * The end of all that was granted before an operator set the clock back, which the clock does not
   * show any more; absent if nobody did.
   */
  readonly latestMs?: number | undefined;
  readonly operations: number;
}

/** Worker IDs that follow each other. */
export interface IdSpan {
  readonly workerIdMin: number;
  /** This end is inclusive. */
  readonly workerIdMax: number;
}

/** The holder of a worker ID. */
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

/** A worker ID in a registry. */
export interface WorkerSlot {
  readonly workerId: number;
  /** 0 if it was never leased. It outlives every holder. */
  readonly ceilingMs: number;
  readonly holder?: SlotHolder | undefined;
}

export type HeldSlot = WorkerSlot & { readonly holder: SlotHolder };

/** The records that a renewal or a release reads. */
export interface WorkerSnapshot {
  /** It is undefined where there is no registry. */
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
  /** It is absent if the header stays as it is. */
  readonly header?: RegistryHeader;
  /** They are written in this order, after the header. */
  readonly slots: readonly WorkerSlot[];
}

/** The answer of an operation, given once its changes are written. */
export interface Step extends Changes {
  readonly answer: LeaseAnswer;
}

/** These never fall in a header, as long as it is that of one registry. */
const RISING = [
  'operations',
  'era',
  'quarantineMs',
  'safeFloorMs',
  'layoutFloorMs',
  'latestMs',
] as const;

/** @throws SnowflakeError where a rule asks for what none may; nothing is written then */
export function checkChanges(stored: RegistryHeader | undefined, { header, slots }: Changes): void {
  for (const name of RISING) {
    if (header === undefined || header.incarnation !== stored?.incarnation) break;
    const [from, to] = [stored[name] ?? 0, header[name] ?? 0];
    if (!(to >= from)) throw invariantBroken(`${name} of a registry fell`, { from, to });
  }
  for (const { workerId, ceilingMs, holder } of slots) {
    const { floorMs = -Infinity } = holder ?? {};
    // A request for a range of 0 ms may be granted an empty one, which does no harm.
    if (floorMs <= ceilingMs) continue;
    throw invariantBroken('a range ends before it begins', { workerId, floorMs, ceilingMs });
  }
}

/*
 * A registry as an operator sees it, and the inspector that every store with a registry offers.
 *
 * Guarantee: read() and findings() change nothing; what changes something goes through the
 * operations that processes use.
 */

/** How bad it is; only a note leaves the exit code alone. */
export type Level = 'ok' | 'note' | 'warning' | 'fault';

/** One thing that `doctor` looked at, and how it stands. */
export interface Finding {
  readonly level: Level;
  readonly topic: string;
  readonly text: string;
}

export function finding(level: Level, topic: string, text: string): Finding {
  return { level, topic, text };
}

/** The facts of a registry besides its worker IDs. */
export type RegistryFacts = Omit<RegistryHeader, 'lastTimeMs'>;

/** The secret that proves a holder to the store. It is never printed. */
export type HolderProof = Pick<SlotHolder, 'token' | 'nonce'>;

export interface RegistryView {
  /** The store's clock as it stands. */
  readonly storeMs: number;
  /** The registry's clock, which never goes back. */
  readonly nowMs: number;
  /** It is absent until the first lease. */
  readonly facts?: RegistryFacts;
  /** True if the namespace holds data, but no registry. */
  readonly isUnfinished: boolean;
  readonly workers: readonly WorkerRecord[];
  /** Also where the range of the holder begins. */
  proofOf(workerId: number): (HolderProof & Pick<SlotHolder, 'floorMs'>) | undefined;
}

export interface StorePreparation {
  readonly text: string;
  run(): Promise<void>;
}

/** A registry in a store, as the operator uses it. */
export interface RegistryInspector {
  /** Names the store in messages; holds no password. */
  readonly where: string;
  /** Names the location of the registry in the store. */
  readonly key: string;
  readonly lossWindowMs: number;
  /** The statement that must be run before a registry can exist, and the program that runs it. */
  readonly preparation?: StorePreparation;
  /** @param countMax so many worker IDs are enough, whichever; absent for all */
  read(countMax?: number): Promise<RegistryView>;
  /** Advice for the operator about the server and its settings. */
  findings(): Promise<Finding[]>;
  /** The last message of the connection, for errors about an answer that does not come. */
  lastFault?(): Error | undefined;
  release: NonNullable<IDistributedSupport['release']>;
  close(): Promise<void>;
}

/** The records of the slots in use, in order. */
export function workerRecords(slots: Iterable<WorkerSlot>, nowMs: number): WorkerRecord[] {
  return [...slots]
    .toSorted((a, b) => a.workerId - b.workerId)
    .map(({ workerId, ceilingMs, holder }) => {
      const freeInMs = Math.max(0, ceilingMs - nowMs);
      const format = holder && { holder: { ...holder.label, sinceMs: holder.sinceMs } };
      return { workerId, ceilingMs, freeInMs, ...format };
    });
}
