/**
 * The contract between this library and a store that leases worker IDs. A lease does not mean "you
 * own worker ID 7 until noon". It means "you own worker ID 7 for IDs with a time in [floor,
 * ceiling)". Uniqueness depends only on one rule: ranges of one worker ID never overlap.
 *
 * See docs/guides/writing-a-support.md for the rules, and static.support.ts for a short example.
 */
import type { HolderLabel } from '../time/process-identity.js';

/** Token under which Nest injects the support: `@Inject(IDistributedSupport)`. */
export const IDistributedSupport: unique symbol = Symbol.for(
  'nestjs-snowflake:IDistributedSupport',
) as never;

/**
 * Hands each process a worker ID. All times are Unix milliseconds by the store's clock, and every
 * operation is atomic and repeatable, because the library retries after a lost response. If the
 * store is unreachable, a call throws, which has no effect on the lease.
 */
export interface IDistributedSupport {
  /** Leases a free worker ID; a repeated token gets the same lease. */
  getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer>;
  /** Extends a lease, only for the holder of its token. */
  refreshAlive(lease: WorkerLease): Promise<LeaseAnswer>;
  /** Releases the worker ID. The next holder starts after the last issued ID. */
  release?(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void>;
  /**
   * Lists all worker IDs and their holders, for operators.
   * @param countMax the maximum number to list, in any order; absent for all
   */
  workers?(countMax?: number): Promise<WorkerRecord[]>;
  /** Advice for operators about the store, one sentence each. Read once after the start. */
  advice?(): Promise<string[]>;
  /**
   * The support's only worker ID, if known before startup. The options check then also reports a
   * worker ID that does not fit the layout.
   */
  readonly workerId?: number | undefined;
  /** True if the only worker ID is a claim, requested with `LeaseRequest.takesOver`. */
  readonly takesOver?: boolean | undefined;
  /** The location of the registry, as text for operators without secrets. */
  readonly location?: string | undefined;
  /** The ID space's name, a metric label; absent if it has none. */
  readonly namespace?: string | undefined;
  /**
   * An option's assumption about the store that the store does not confirm, for status and health.
   * Absent if uniqueness depends on no such assumption.
   */
  readonly statement?: string | undefined;
  /** Closes only the connections that the support opened itself. */
  close?(): Promise<void>;
  /**
   * True if the store's data ends with the process. After a restart, only the clock separates new
   * IDs from old ones, as under an endless lease. IDs then do not run ahead of the clock, and a
   * start waits for the next tick if ticks are long.
   */
  readonly isVolatile?: boolean | undefined;
  /**
   * After data loss, new ranges avoid lost ones for a lease plus this time. It is how long an old
   * server may respond after a failover, plus the clock difference.
   */
  readonly lossWindowMs?: number | undefined;
}

/** The holder's terms, which are the same in every call. */
export interface LeaseTerms {
  /** Bits, unit, and epoch of the IDs; the store refuses another layout in the same namespace. */
  readonly fingerprint: string;
  /** How far ahead of the store's clock a ceiling is set. */
  readonly ttlMs: number;
  /** The store grants no shorter range; it then responds 'wait' or 'hold'. */
  readonly minRangeMs: number;
  /**
   * The longest quarantine this process has received from a registry, 0 before the first response.
   * A registry with a shorter quarantine adopts it, so a new registry continues the quarantine of a
   * lost one.
   */
  readonly quarantineMs: number;
  /** The latest `layouts` that this process has received; a registry that lost them adopts them. */
  readonly layouts?: string | undefined;
  /** The wall clock of this host, Unix ms. Copies of this package before 0.2 leave it out. */
  readonly wallMs?: number | undefined;
  /** Absent before a registry's first response. */
  readonly reckoned?: ReckonedTime | undefined;
  /** The highest `latestMs` received by this process; a registry that lost it starts above it. */
  readonly latestMs?: number | undefined;
}

/**
 * The current clocks of a registry by this process's estimate: the last received time plus the
 * elapsed time by its monotonic clock.
 */
export interface ReckonedTime {
  /** The incarnation in that registry's mark. */
  readonly incarnation: string;
  readonly server: string;
  /** The registry's clock. */
  readonly nowMs: number;
  /** The clock of the registry's store, without the correction that the registry may add. */
  readonly timeMs: number;
}

/** The request of a process for a worker ID. */
export interface LeaseRequest extends LeaseTerms {
  /** A random string, new for every lease and never derived from the host. */
  readonly token: string;
  readonly nonce: string;
  readonly workerIdMin: number;
  /** Inclusive. */
  readonly workerIdMax: number;
  /** The end of the range that is still in use during this request, or 0. */
  readonly haveMs: number;
  /** Absent until this process is granted a range. */
  readonly seen?: SeenRange | undefined;
  readonly holder: HolderLabel;
  /**
   * Requests a worker ID even if it is held, as a StatefulSet pod requests its own number. If
   * `workerIdMin` is `workerIdMax`, the new range starts at the end of the last granted range. The
   * old holder keeps that range and is fenced. The response is 'wait' if too little time remains
   * until one ttl ahead.
   */
  readonly takesOver?: boolean | undefined;
}

/** Lets a holder detect that the store lost an acknowledged operation. */
export interface RegistryMark {
  /** A random string from the creation of the registry; equal in the whole fleet. */
  readonly incarnation: string;
  /** A random string of the last loss of data that this registry detected; absent without one. */
  readonly lineage?: string | undefined;
  /** The identity of the responding server. */
  readonly server: string;
  /** The number of operations so far. */
  readonly operations: number;
  /** The number of losses of data so far. A replaced server has a lower number. */
  readonly era?: number | undefined;
}

/** Reports the grants of a replacement server to the server that it replaced. */
export interface SeenRange extends Omit<RegistryMark, 'operations' | 'lineage'> {
  /** The highest ceiling that this process has received from that server. */
  readonly haveMs: number;
}

/** A lease from its holder's point of view, to renew or release it. */
export interface WorkerLease extends LeaseTerms {
  readonly workerId: number;
  readonly token: string;
  /** The nonce that the store should have, and the next nonce to store. */
  readonly nonce: string;
  readonly nonceNext: string;
  /** The previous nonce, which the store has if it lost the last renewal. */
  readonly nonceBefore?: string | undefined;
  /** The highest ceiling that this holder has received. */
  readonly haveMs: number;
  /** Only an operator sets this: the release resets the registry's clock to its store's clock. */
  readonly settles?: boolean | undefined;
  /** Only an operator sets this: the release changes which layouts the registry admits. */
  readonly move?: LayoutChange | undefined;
  readonly mark: RegistryMark;
}

/** Takes effect only if the registry stores exactly `fingerprint` as its layouts. */
export interface LayoutChange {
  readonly text: string;
  /** The registry ignores the change once its clock has passed this time, Unix ms. */
  readonly byMs: number;
  /**
   * Later ranges start no lower than this, since another registry may have granted earlier times. A
   * clock that is behind it by more than its quarantine moves forward. Unix ms; default 0.
   */
  readonly floorMs?: number | undefined;
}

/**
 * The facts of a registry in a response, including refusals; all are absent without a registry. The
 * process passes them to a registry that has lost them. A response therefore contains them only if
 * the registry has adopted those in the request.
 */
export interface AnswerFacts {
  /** The registry's clock, which never moves back. */
  readonly nowMs?: number | undefined;
  /** The store's own clock, which the registry does not always follow. */
  readonly timeMs?: number | undefined;
  readonly mark?: RegistryMark | undefined;
  /** How long after a loss of data the registry keeps new ranges separate from lost ones. */
  readonly quarantineMs?: number | undefined;
  /** The layouts that the registry admits concurrently, as its own text; absent for one layout. */
  readonly layouts?: string | undefined;
  /**
   * The end of all grants from before an operator set the registry's clock back; otherwise absent.
   */
  readonly latestMs?: number | undefined;
}

/**
 * A worker ID for IDs with a time from the floor up to the ceiling, in Unix ms by the store's
 * clock.
 */
export interface LeaseGrant extends AnswerFacts {
  readonly status: 'ok';
  readonly workerId: number;
  /** Inclusive; -Infinity if no store has a floor. */
  readonly floorMs: number;
  /** Exclusive; Infinity for a worker ID that is held forever. */
  readonly ceilingMs: number;
}

/**
 * A support's response: a range, or the reason for a refusal. If the store is unreachable, the call
 * throws instead.
 */
export type LeaseAnswer = LeaseGrant | LeaseRefusal;

/** The reason why there is no range. */
export type LeaseRefusal = AnswerFacts & Refusal;

type Refusal =
  /** Every worker ID is held; the next is free after `waitMs`. */
  | { readonly status: 'none-free'; readonly waitMs: number }
  /**
   * After a loss of data, or when a worker ID is taken over, a sufficient range can be granted
   * after `waitMs`.
   */
  | StoredLater<'wait'>
  /**
   * The renewal must wait: the current range stays valid, and its continuation is available after
   * `waitMs`.
   */
  | StoredLater<'hold'>
  /**
   * Another process holds the worker ID now. The current range stays valid to its end, unless the
   * new holder's range begins earlier: a store that lost data in between granted overlapping
   * ranges.
   */
  | { readonly status: 'fenced'; readonly floorMs?: number | undefined }
  /** No process holds the worker ID; the current range stays valid to its end. */
  | { readonly status: 'unknown' }
  /**
   * A move gave the worker ID to another layout or store; the current range stays valid to its end.
   */
  | { readonly status: 'moved' }
  /**
   * Another copy of this process renewed the lease. With `isOverlap`, another server granted the
   * same range to another process. Drop the lease and its range at once.
   */
  | { readonly status: 'cloned'; readonly isOverlap?: boolean | undefined }
  /**
   * The namespace is in use with another layout, or two layouts claim it. Drop the lease and its
   * range at once, since the other layout could generate equal IDs.
   */
  | { readonly status: 'layout-mismatch'; readonly fingerprint: string }
  /** The registry uses another version of the protocol; the current range stays valid. */
  | { readonly status: 'other-version'; readonly version: string };

/** The same request may succeed after `waitMs`. */
interface StoredLater<Status extends string> {
  readonly status: Status;
  readonly waitMs: number;
  /** True if the range is stored, and will be granted once no server of the store can lose it. */
  readonly isStored?: boolean | undefined;
}

/** One worker ID, as shown to operators. */
export interface WorkerRecord {
  readonly workerId: number;
  readonly ceilingMs: number;
  /** The time until it can be leased again, 0 if it is free now. */
  readonly freeInMs: number;
  /** Absent without a holder. Unreadable numbers in it are 0. */
  readonly holder?: (HolderLabel & { readonly sinceMs: number }) | undefined;
}
