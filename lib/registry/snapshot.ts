/**
 * The input and output of the registry rules: the records that one operation needs, read at one
 * moment, and the records to write. Also the view for operators.
 *
 * A store reads a snapshot, applies a rule and writes the changes, header first, then each slot in
 * order, all in one atomic step. The store never interprets a record.
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

/** The facts of a registry apart from its worker IDs. */
export interface RegistryHeader extends ClockState {
  readonly version: string;
  /**
   * Empty until the first range is granted; names two layouts if both had a range; lists the
   * layouts during a move.
   */
  readonly fingerprint: string;
  readonly incarnation: string;
  /**
   * A random string, new after each loss, which distinguishes a copy in use from its original.
   * Absent before the first loss.
   */
  readonly lineage?: string | undefined;
  readonly server: string;
  /** The longest ttl ever granted plus its loss window: every lost range ends within this time. */
  readonly quarantineMs: number;
  /** No range starts below this. */
  readonly safeFloorMs: number;
  /**
   * No new range starts below this: until then, ranges from before the last move may be valid, for
   * worker IDs that share bits with others. Absent before the first move.
   */
  readonly layoutFloorMs?: number;
  /**
   * Counts losses of data and other events that end lower ranges; of these events, only a loss sets
   * a lineage.
   */
  readonly era: number;
  /** The era of the last loss that was proved by grants of a server that replaced this one. */
  readonly leftEra?: number;
  /**
   * How far the registry before the last loss was ahead of this one, if the floor has moved for
   * this but the clock has not. Absent if the clock moved, or without a report.
   */
  readonly toldMs?: number | undefined;
  /**
   * The end of all grants from before an operator set the clock back, which the clock no longer
   * shows; absent if no operator did.
   */
  readonly latestMs?: number | undefined;
  readonly operations: number;
}

/** Consecutive worker IDs. */
export interface IdSpan {
  readonly workerIdMin: number;
  /** Inclusive. */
  readonly workerIdMax: number;
}

/** The holder of a worker ID. */
export interface SlotHolder {
  readonly token: string;
  /** Empty if copies of the holder were detected: no copy has an empty nonce. */
  readonly nonce: string;
  readonly floorMs: number;
  readonly era: number;
  /** The number of layout changes at the last grant of this lease; absent for 0. */
  readonly moveCount?: number | undefined;
  readonly sinceMs: number;
  readonly label: HolderLabel;
}

/** A worker ID in a registry. */
export interface WorkerSlot {
  readonly workerId: number;
  /** 0 if the worker ID was never leased. The ceiling outlives every holder. */
  readonly ceilingMs: number;
  readonly holder?: SlotHolder | undefined;
}

export type HeldSlot = WorkerSlot & { readonly holder: SlotHolder };

/** The records that a renewal or a release reads. */
export interface WorkerSnapshot {
  /** Undefined if there is no registry. */
  readonly header: RegistryHeader | undefined;
  readonly slot: WorkerSlot;
}

/** The records that an acquire reads. */
export interface AcquireSnapshot {
  readonly header: RegistryHeader | undefined;
  /** The slot whose holder has the request's token, if any. */
  readonly held: HeldSlot | undefined;
  /** The slot with the lowest ceiling in the requested span, free for the longest time. */
  readonly lowest: WorkerSlot;
}

/** The records to write. */
export interface Changes {
  /** Absent if the header stays unchanged. */
  readonly header?: RegistryHeader;
  /** Written in this order, after the header. */
  readonly slots: readonly WorkerSlot[];
}

/** The result of an operation, valid once its changes are written. */
export interface Step extends Changes {
  readonly answer: LeaseAnswer;
}

/** Fields that never fall within one registry's header. */
const RISING = [
  'operations',
  'era',
  'quarantineMs',
  'safeFloorMs',
  'layoutFloorMs',
  'latestMs',
] as const;

/** @throws SnowflakeError if a rule requests a forbidden change; nothing is written then */
export function checkChanges(stored: RegistryHeader | undefined, { header, slots }: Changes): void {
  for (const name of RISING) {
    if (header === undefined || header.incarnation !== stored?.incarnation) break;
    const [from, to] = [stored[name] ?? 0, header[name] ?? 0];
    if (!(to >= from)) throw invariantBroken(`${name} of a registry fell`, { from, to });
  }
  for (const { workerId, ceilingMs, holder } of slots) {
    const { floorMs = -Infinity } = holder ?? {};
    // A request for a range of 0 ms may get an empty range, which is harmless.
    if (floorMs <= ceilingMs) continue;
    throw invariantBroken('a range ends before it begins', { workerId, floorMs, ceilingMs });
  }
}

/*
 * A registry, as shown to operators, and the inspector that every store with a registry provides.
 *
 * Guarantee: read() and findings() change nothing; all changes use the same operations as
 * processes.
 */

/** The severity; only a note leaves the exit code unchanged. */
export type Level = 'ok' | 'note' | 'warning' | 'fault';

/** One check of `doctor`, and its result. */
export interface Finding {
  readonly level: Level;
  readonly topic: string;
  readonly text: string;
}

export function finding(level: Level, topic: string, text: string): Finding {
  return { level, topic, text };
}

/** The facts of a registry apart from its worker IDs. */
export type RegistryFacts = Omit<RegistryHeader, 'lastTimeMs'>;

/** The secret that identifies a holder to the store. It is never printed. */
export type HolderProof = Pick<SlotHolder, 'token' | 'nonce'>;

export interface RegistryView {
  /** The store's current clock. */
  readonly storeMs: number;
  /** The registry's clock, which never moves back. */
  readonly nowMs: number;
  /** Absent until the first lease. */
  readonly facts?: RegistryFacts;
  /** True if the namespace holds data, but no registry. */
  readonly isUnfinished: boolean;
  readonly workers: readonly WorkerRecord[];
  /** Includes the start of the holder's range. */
  proofOf(workerId: number): (HolderProof & Pick<SlotHolder, 'floorMs'>) | undefined;
}

export interface StorePreparation {
  readonly text: string;
  run(): Promise<void>;
}

/** A registry in a store, for operators. */
export interface RegistryInspector {
  /** The name of the store in messages; contains no password. */
  readonly where: string;
  /** The location of the registry in the store. */
  readonly key: string;
  readonly lossWindowMs: number;
  /** The statement that must run before a registry can exist, and the program that runs it. */
  readonly preparation?: StorePreparation;
  /** @param countMax the maximum number of worker IDs, in any order; absent for all */
  read(countMax?: number): Promise<RegistryView>;
  /** Advice for operators about the server and its settings. */
  findings(): Promise<Finding[]>;
  /** The last message of the connection, for errors about a missing response. */
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
