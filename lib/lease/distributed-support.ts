/**
 * The contract between this library and a store that leases worker IDs. A lease does not mean "you
 * own worker ID 7 until noon" but "worker ID 7, for IDs whose time is in [floor, ceiling)".
 * Uniqueness depends only on one rule: ranges of one worker ID never overlap.
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
 * operation is atomic and may be repeated: after a lost answer, the call is retried.
 * An unreachable store throws, which is not an answer and changes nothing.
 */
export interface IDistributedSupport {
  /** Leases a free worker ID; the same token gets the same lease again. */
  getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer>;
  /** Prolongs a lease, only for the holder of its token. */
  refreshAlive(lease: WorkerLease): Promise<LeaseAnswer>;
  /** Gives the worker ID back. The next holder starts after the last ID that was issued. */
  release?(lease: WorkerLease, lastIssuedMs: number | undefined): Promise<void>;
  /**
   * All worker IDs and their holders, for the operator.
   * @param countMax so many of them are enough, whichever; absent for all
   */
  workers?(countMax?: number): Promise<WorkerRecord[]>;
  /** Advice to the operator about the store, one sentence each. It is read once after the start. */
  advice?(): Promise<string[]>;
  /**
   * Its only worker ID, if known before startup. The check of the options then reports a worker ID
   * that does not fit the layout, together with all other errors.
   */
  readonly workerId?: number | undefined;
  /** True if that one is a claim: it is requested with `LeaseRequest.takesOver`. */
  readonly takesOver?: boolean | undefined;
  /** The place of the registry, in words for the operator, without secrets. */
  readonly location?: string | undefined;
  /** The ID space's name, a metric label; absent without one. */
  readonly namespace?: string | undefined;
  /**
   * An option's assumption about the store that the store does not confirm, for status and health.
   * Absent if uniqueness depends on no such assumption.
   */
  readonly statement?: string | undefined;
  /** Closes only the connections that the support opened. */
  close?(): Promise<void>;
  /**
   * True if everything it knows ends with the process. After a restart only the clock keeps new IDs
   * apart from old ones, as under a lease without end. Ids then do not run ahead of it, and a start
   * waits for the next tick if ticks are long.
   */
  readonly isVolatile?: boolean | undefined;
  /**
   * After data loss, new ranges stay clear of lost ones for a lease plus this time: how long an old
   * server may keep answering after a failover, plus the clock difference.
   */
  readonly lossWindowMs?: number | undefined;
}

/** The terms of the holder, the same at every call. */
export interface LeaseTerms {
  /** Bits, unit and epoch of the IDs; the store refuses another one in the same namespace. */
  readonly fingerprint: string;
  /** How far ahead of the store's clock a ceiling is set. */
  readonly ttlMs: number;
  /** A shorter range is not worth granting; the answer is then 'wait' or 'hold'. */
  readonly minRangeMs: number;
  /**
   * The longest quarantine this process ever got from a registry, 0 before its first answer. A
   * registry with a shorter one adopts it, so that a new registry learns the quarantine of a lost
   * one.
   */
  readonly quarantineMs: number;
  /** The latest `layouts` that this process got; a registry that forgot them adopts them. */
  readonly layouts?: string | undefined;
  /** The wall clock of this host, Unix ms. Copies of this package before 0.2 leave it out. */
  readonly wallMs?: number | undefined;
  /** It is absent before the first answer of a registry. */
  readonly reckoned?: ReckonedTime | undefined;
  /** The highest `latestMs` that this process got; a registry that forgot it begins above. */
  readonly latestMs?: number | undefined;
}

/**
 * The clocks of a registry as this process reckons them now: it got their time once and has since
 * measured the elapsed time by its monotonic clock.
 */
export interface ReckonedTime {
  /** The incarnation in the mark of that registry. */
  readonly incarnation: string;
  readonly server: string;
  /** The clock of the registry. */
  readonly nowMs: number;
  /** The clock of its store, to which the registry may have added something. */
  readonly timeMs: number;
}

/** The request of a process for a worker ID. */
export interface LeaseRequest extends LeaseTerms {
  /** A random text, new for every lease and never derived from the host. */
  readonly token: string;
  readonly nonce: string;
  readonly workerIdMin: number;
  /** This end is inclusive. */
  readonly workerIdMax: number;
  /** The end of the range that is still in use while another one is requested, or 0. */
  readonly haveMs: number;
  /** It is absent until this process was granted a range. */
  readonly seen?: SeenRange | undefined;
  readonly holder: HolderLabel;
  /**
   * Asks for a worker ID that may be held, as the pod of a StatefulSet asks for its own number. If
   * `workerIdMin` is `workerIdMax`, the new range starts at the end of the last granted one; its
   * holder keeps that one and is fenced. The answer is 'wait' if too little is left until one ttl
   * ahead.
   */
  readonly takesOver?: boolean | undefined;
}

/** Lets a holder recognise that the store forgot an operation it had acknowledged. */
export interface RegistryMark {
  /** Random text written when the registry was created; equal in the whole fleet. */
  readonly incarnation: string;
  /** Random text of the last loss of data that this registry noticed; absent before the first. */
  readonly lineage?: string | undefined;
  /** The identity of the server that answered. */
  readonly server: string;
  /** Operations run so far. */
  readonly operations: number;
  /** The number of losses of data so far. A server that was replaced knows fewer. */
  readonly era?: number | undefined;
}

/** Reports to a replaced server the grants of its replacement. */
export interface SeenRange extends Omit<RegistryMark, 'operations' | 'lineage'> {
  /** The highest ceiling that this process ever got from that server. */
  readonly haveMs: number;
}

/** A lease as its holder sees it, to renew or release it. */
export interface WorkerLease extends LeaseTerms {
  readonly workerId: number;
  readonly token: string;
  /** The nonce that the store should have, and the next one to store. */
  readonly nonce: string;
  readonly nonceNext: string;
  /** The nonce before that, which a server has that forgot the last renewal. */
  readonly nonceBefore?: string | undefined;
  /** The highest ceiling this holder ever got. */
  readonly haveMs: number;
  /**
   * Only an operator sets this: a release that brings the clock of the registry back to that of its
   * store.
   */
  readonly settles?: boolean | undefined;
  /** Only an operator sets this: a release that changes which layouts the registry admits. */
  readonly move?: LayoutChange | undefined;
  readonly mark: RegistryMark;
}

/** Takes effect only where `fingerprint` still is all that the registry stores of layouts. */
export interface LayoutChange {
  readonly text: string;
  /** The registry ignores the change once its clock has passed this, Unix ms. */
  readonly byMs: number;
  /**
   * No range that begins from then on starts below it: another registry may have granted what lies
   * before. A clock that is further behind than its quarantine goes on from there. Unix ms;
   * default 0.
   */
  readonly floorMs?: number | undefined;
}

/**
 * The facts of a registry at an answer, refusals included; all are absent without a registry. The
 * process brings them to a registry that has lost them, so an answer holds them only if this one
 * has taken up what the request brought.
 */
export interface AnswerFacts {
  /** The registry's clock, which never goes back. */
  readonly nowMs?: number | undefined;
  /** The store's own clock, which the registry does not follow everywhere. */
  readonly timeMs?: number | undefined;
  readonly mark?: RegistryMark | undefined;
  /** How long after a loss of data the registry keeps new ranges away from forgotten ones. */
  readonly quarantineMs?: number | undefined;
  /** The layouts that the registry admits side by side, in its own words; absent for one. */
  readonly layouts?: string | undefined;
  /**
   * The end of all grants before an operator set the registry's clock back; otherwise absent.
   */
  readonly latestMs?: number | undefined;
}

/**
 * A worker ID, for IDs whose time lies from the floor up to the ceiling. Unix ms by the store's
 * clock.
 */
export interface LeaseGrant extends AnswerFacts {
  readonly status: 'ok';
  readonly workerId: number;
  /** Inclusive; -Infinity without a floor in any store. */
  readonly floorMs: number;
  /** Exclusive; Infinity for a worker ID owned without end. */
  readonly ceilingMs: number;
}

/**
 * The answer of a support: a range, or the reason why there is none. A store that cannot be reached
 * throws instead.
 */
export type LeaseAnswer = LeaseGrant | LeaseRefusal;

/** The reason why there is no range. */
export type LeaseRefusal = AnswerFacts & Refusal;

type Refusal =
  /** Every worker ID is held; the next one is free after `waitMs`. */
  | { readonly status: 'none-free'; readonly waitMs: number }
  /**
   * After a loss of data, or when a worker ID is taken over, a range worth having can be granted
   * after `waitMs`.
   */
  | StoredLater<'wait'>
  /**
   * A renewal has to wait too: the current range lasts, and its continuation comes after `waitMs`.
   */
  | StoredLater<'hold'>
  /**
   * Another process holds the worker ID now. The current range stays ours to its end, unless that
   * of the new holder begins before it: a store that lost data in between granted two that overlap.
   */
  | { readonly status: 'fenced'; readonly floorMs?: number | undefined }
  /** No process holds the worker ID; the current range stays ours to its end. */
  | { readonly status: 'unknown' }
  /**
   * A move gave the worker ID to another layout, or to another store; the current range stays ours
   * to its end.
   */
  | { readonly status: 'moved' }
  /**
   * Another copy of this process renewed the lease. With `isOverlap`, another server granted the
   * same range to another process. Drop everything at once.
   */
  | { readonly status: 'cloned'; readonly isOverlap?: boolean | undefined }
  /**
   * The namespace is in use with another layout, or two layouts contest it. Drop everything at
   * once, since IDs of the other layout could be equal.
   */
  | { readonly status: 'layout-mismatch'; readonly fingerprint: string }
  /** Another version of the protocol keeps the registry; the current range stays ours. */
  | { readonly status: 'other-version'; readonly version: string };

/** The same question is worth asking again after `waitMs`. */
interface StoredLater<Status extends string> {
  readonly status: Status;
  readonly waitMs: number;
  /** True if the range is stored, and is granted once no server of the store can forget it. */
  readonly isStored?: boolean | undefined;
}

/** One worker ID in the operator's view. */
export interface WorkerRecord {
  readonly workerId: number;
  readonly ceilingMs: number;
  /** The time until it can be leased again, 0 when it is free now. */
  readonly freeInMs: number;
  /** Absent without a holder. A number in it that cannot be read is 0. */
  readonly holder?: (HolderLabel & { readonly sinceMs: number }) | undefined;
}
