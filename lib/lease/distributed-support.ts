/**
 * The contract between this library and whatever hands out worker ids, in one file.
 *
 * A lease is not "you own worker id 7 until noon" but "worker id 7, for ids whose time lies in
 * [floor, ceiling)". Ranges of one worker id never overlap; that is all uniqueness rests on.
 * docs/guides/writing-a-support.md gives the rules; static.support.ts is the shortest example.
 */
import type { HolderLabel } from '../time/process-identity.js';

/** Token under which Nest injects the support: `@Inject(IDistributedSupport)`. */
export const IDistributedSupport: unique symbol = Symbol.for(
  'nestjs-snowflake:IDistributedSupport',
) as never;

/**
 * Hands each process a worker id. All times are Unix milliseconds by the store's clock, and every
 * operation is atomic and may be repeated: a lost answer is asked for again.
 * A store that cannot be reached throws; that is not an answer and changes nothing.
 */
export interface IDistributedSupport {
  /** Leases a free worker id; the same token gets the same lease again. */
  getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer>;
  /** Prolongs a lease, only for the holder of its token. */
  refreshAlive(lease: WorkerLease): Promise<LeaseAnswer>;
  /** Gives the worker id back; the next holder starts after the last id that was issued. */
  release?(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void>;
  /**
   * Who holds what, for the operator.
   * @param countMax so many of them are enough, whichever; absent for all
   */
  workers?(countMax?: number): Promise<WorkerRecord[]>;
  /**
   * What the operator should change in the store, one sentence each; asked once after the start.
   */
  advice?(): Promise<string[]>;
  /**
   * The one worker id it gives, where that is known before the start: one that does not fit the
   * layout is then refused together with all other faults of the options.
   */
  readonly workerId?: number | undefined;
  /** True where that one is a claim: it is asked for with `LeaseRequest.takesOver`. */
  readonly takesOver?: boolean | undefined;
  /** Where the registry lies, in words for the operator, without secrets. */
  readonly location?: string | undefined;
  /** Closes what the support opened itself. */
  close?(): Promise<void>;
  /**
   * True where all it knows ends with the process. After a restart the clock alone keeps new ids
   * apart from old ones, as under a lease without end: ids then do not run ahead of it, and a start
   * waits for the next tick where ticks are long.
   */
  readonly isVolatile?: boolean | undefined;
  /**
   * How much longer than a lease a store that lost data keeps new ranges away from forgotten ones:
   * the time an old server may go on answering after a failover, plus the clock difference.
   */
  readonly lossWindowMs?: number | undefined;
}

/** What the holder asks for, the same at every call. */
export interface LeaseTerms {
  /** Bits, unit and epoch of the ids; the store refuses another one in the same namespace. */
  readonly fingerprint: string;
  /** How far ahead of the store's clock a ceiling is set. */
  readonly ttlMs: number;
  /** A shorter range is not worth granting; the answer is then 'wait' or 'hold'. */
  readonly minRangeMs: number;
  /**
   * The longest quarantine this process was ever told of, 0 before its first grant. A registry
   * takes it for its own where that is shorter: whoever knew the one before brings what it knew.
   */
  readonly quarantineMs: number;
  /** What the clock of this host shows, Unix ms. A copy of this package before 0.2 does not say. */
  readonly wallMs?: number | undefined;
  /** Absent before its first grant. */
  readonly reckoned?: ReckonedTime | undefined;
}

/**
 * What the clocks of a registry show now, as a process reckons that was told them once and has
 * measured since, by its monotonic clock, how much time went by.
 */
export interface ReckonedTime {
  /** Of the registry that told them, as in its mark. */
  readonly incarnation: string;
  readonly server: string;
  /** The clock of the registry. */
  readonly nowMs: number;
  /** The clock of its store, to which the registry may have added something. */
  readonly timeMs: number;
}

/** What a process asks for that wants a worker id. */
export interface LeaseRequest extends LeaseTerms {
  /** Random, new for every lease, never derived from the host. */
  readonly token: string;
  readonly nonce: string;
  readonly workerIdMin: number;
  /** Inclusive. */
  readonly workerIdMax: number;
  /** Where the range ends that is still in use while another one is asked for, or 0. */
  readonly haveMs: number;
  /** Absent until this process was granted a range. */
  readonly seen?: SeenRange | undefined;
  readonly holder: HolderLabel;
  /**
   * Asks for a worker id that may be held, as the pod of a StatefulSet asks for its own number.
   * Where `workerIdMin` is `workerIdMax`, the new range starts where the one granted last ends; its
   * holder keeps it and is fenced. 'wait' where too little is left until one ttl ahead.
   */
  readonly takesOver?: boolean | undefined;
}

/** How a holder recognises that the store forgot something it had acknowledged. */
export interface RegistryMark {
  /** Random text written when the registry was created; equal in the whole fleet. */
  readonly incarnation: string;
  /** Identity of the server that answered. */
  readonly server: string;
  /** Operations run so far. */
  readonly operations: number;
  /** Losses of data so far, of which a server that was left for another one knows fewer. */
  readonly era?: number | undefined;
}

/** By which a server that was left for another one learns what that one granted meanwhile. */
export interface SeenRange extends Omit<RegistryMark, 'operations'> {
  /** The highest ceiling that this process was ever answered by that server. */
  readonly haveMs: number;
}

/** A lease as its holder knows it, for renewing it and giving it back. */
export interface WorkerLease extends LeaseTerms {
  readonly workerId: number;
  readonly token: string;
  /** The nonce the store should know, and the one it shall know next. */
  readonly nonce: string;
  readonly nonceNext: string;
  /** The highest ceiling this holder was ever answered. */
  readonly haveMs: number;
  /** An operator's: a release that brings the clock of the registry back to that of its store. */
  readonly settles?: boolean | undefined;
  readonly mark: RegistryMark;
}

/**
 * A worker id, for ids whose time lies from the floor up to the ceiling. Unix ms by the store's
 * clock.
 */
export interface LeaseGrant {
  readonly status: 'ok';
  readonly workerId: number;
  /** Inclusive; -Infinity where no store knows any better. */
  readonly floorMs: number;
  /** Exclusive; Infinity for a worker id owned without end. */
  readonly ceilingMs: number;
  /** The registry's clock, which never goes back; absent where there is no store. */
  readonly nowMs?: number | undefined;
  /** The store's clock itself, which the registry does not follow wherever it goes. */
  readonly timeMs?: number | undefined;
  readonly mark?: RegistryMark | undefined;
  /** How long after a loss of data the registry keeps new ranges away from forgotten ones. */
  readonly quarantineMs?: number | undefined;
}

/**
 * What a support answers: a range, or why there is none. A store that cannot be reached throws
 * instead.
 */
export type LeaseAnswer =
  | LeaseGrant
  /** Every worker id is held; the next one is free after `waitMs`. */
  | { readonly status: 'none-free'; readonly waitMs: number }
  /**
   * After a loss of data, or where a worker id is taken over: a range worth having can be granted
   * after `waitMs`.
   */
  | { readonly status: 'wait'; readonly waitMs: number }
  /** The same, at a renewal: the range held lasts, its continuation comes after `waitMs`. */
  | { readonly status: 'hold'; readonly waitMs: number }
  /**
   * Somebody else holds the worker id now. The range held stays ours to its end, unless that of the
   * new holder begins before it: two that overlap were granted by a store that lost data between.
   */
  | { readonly status: 'fenced'; readonly floorMs?: number | undefined }
  /** Nobody holds the worker id; the range held stays ours to its end. */
  | { readonly status: 'unknown' }
  /**
   * Another copy of this process renewed the lease; or, where `isOverlap`, another server granted
   * the same range to somebody else. Drop everything at once.
   */
  | { readonly status: 'cloned'; readonly isOverlap?: boolean | undefined }
  /**
   * The namespace is in use with another layout, or contested by two: drop everything at once,
   * since ids of the other layout could be equal.
   */
  | { readonly status: 'layout-mismatch'; readonly fingerprint: string }
  /** The registry is kept by another version of the protocol; the range held stays ours. */
  | { readonly status: 'other-version'; readonly version: string };

/** One worker id in the operator's view. */
export interface WorkerRecord {
  readonly workerId: number;
  readonly ceilingMs: number;
  /** Until it can be leased again, 0 when it is free now. */
  readonly freeInMs: number;
  /** Absent where nobody holds it; a number in it that cannot be read is 0. */
  readonly holder?: (HolderLabel & { readonly sinceMs: number }) | undefined;
}
