/**
 * The options of locks: how long a lock is held, awaited, and kept from others, for all locks of a
 * process or for one.
 */
import { monotonicClock, systemClock, type Clock } from '../core/clock.js';
import {
  checkedOptions,
  methods,
  nameFaults,
  optionFaults,
  refuse,
  refused,
  TIMER_METHODS,
  typed,
  whole,
  type OptionTable,
} from '../options.js';
import { systemIdentity } from '../time/process-identity.js';
import { systemTimers, type Timers } from '../time/timers.js';
import { permitName, PERMITS_MAX, TTL_MS_MAX } from './lock-store.js';

/** Options for all locks of a process. */
export interface LockOptions {
  /** The duration of a lock without extension, 100 ms to a day. Default 10 s. */
  readonly ttlMs?: number | undefined;
  /**
   * The longest `ttlMs` of any lock in any process of the namespace. After a loss of data, the
   * store grants nothing for this time. Default `ttlMs`; use the same value in all processes.
   */
  readonly longestTtlMs?: number | undefined;
  /** A call to the store counts as failed after this time, 10 ms to a minute. Default 2 s. */
  readonly callTimeoutMs?: number | undefined;
  /** How long a shutdown waits for held locks, up to an hour. Default 10 s. */
  readonly drainMs?: number | undefined;
  /** The name that refused callers see, with host and process. Default 'application'. */
  readonly application?: string | undefined;
  /** Returns the time; for tests. */
  readonly clock?: Clock | undefined;
  /** Measures time independently of clock changes; for tests. */
  readonly monotonic?: Clock | undefined;
  /** Sets timers; for tests. */
  readonly timers?: Timers | undefined;
  /** Returns numbers from 0 up to 1; for tests. */
  readonly random?: (() => number) | undefined;
}

/** Options for one lock. */
export interface HoldOptions {
  /**
   * The ttl, as in LockOptions, up to `longestTtlMs`. The lock is extended while the section runs.
   */
  readonly ttlMs?: number | undefined;
  /** How long to wait for a held lock or an unavailable store. Default 0. */
  readonly waitMs?: number | undefined;
  /**
   * How long no other caller gets the lock, from the grant, even if the section ends sooner.
   * Default 0.
   */
  readonly holdAtLeastMs?: number | undefined;
  /**
   * A time limit for a section that may hang. At the limit its signal is aborted and the lock ends,
   * since extensions never exceed the limit. From 100 ms to a day; by default there is no limit.
   */
  readonly holdAtMostMs?: number | undefined;
  /**
   * How many callers may hold the lock at once, from 1 to 100. Default 1. Use the same value in all
   * callers, since the largest counts.
   */
  readonly permits?: number | undefined;
  /** Ends the wait with the signal's reason. It does not end a running section. */
  readonly signal?: AbortSignal | undefined;
}

/** Options for several locks at once. */
export type SeveralOptions = Omit<HoldOptions, 'holdAtLeastMs' | 'permits'>;

export type LockTerms = Required<Omit<LockOptions, 'application'>> & { readonly label: string };
export type HoldTerms = { readonly [N in Exclude<keyof HoldOptions, 'signal'>]-?: number } & Pick<
  HoldOptions,
  'signal'
> & {
    /** The extra time to wait for a store that grants nothing yet and reports for how long. */
    readonly pauseMs?: number;
  };

const TTL_MS_MIN = 100;
const LABEL_LENGTH_MAX = 256;

export const LOCK = {
  ttlMs: [whole(TTL_MS_MIN, TTL_MS_MAX), 10_000],
  longestTtlMs: [whole(TTL_MS_MIN, TTL_MS_MAX), undefined],
  callTimeoutMs: [whole(10, 60_000), 2000],
  drainMs: [whole(0, 3_600_000), 10_000],
  application: [typed('string'), 'application'],
  clock: [methods('now'), systemClock],
  monotonic: [methods('now'), monotonicClock],
  timers: [methods(...TIMER_METHODS), systemTimers],
  random: [typed('function'), Math.random],
} satisfies OptionTable<LockOptions>;

export const HOLD = {
  ttlMs: [whole(TTL_MS_MIN, TTL_MS_MAX), undefined],
  waitMs: [whole(0, TTL_MS_MAX), 0],
  holdAtLeastMs: [whole(0, TTL_MS_MAX), 0],
  holdAtMostMs: [whole(TTL_MS_MIN, TTL_MS_MAX), Infinity],
  permits: [whole(1, PERMITS_MAX), 1],
  signal: [methods('throwIfAborted', 'addEventListener', 'removeEventListener'), undefined],
} satisfies OptionTable<HoldOptions>;

const { holdAtLeastMs: _least, permits: _permits, ...SEVERAL } = HOLD;

/** @throws SnowflakeError CONFIG_INVALID with every error */
export function lockTerms(options: LockOptions = {}): LockTerms {
  const { application, ...terms } = checkedOptions(options, LOCK, 'A lock');
  const { longestTtlMs = terms.ttlMs } = terms;
  refuse(longestFaults(terms.ttlMs, longestTtlMs));
  const { host, pid } = systemIdentity(application).label();
  const label = `${host} ${pid} ${application}`.replace(/\p{C}/gu, '?');
  return { ...terms, longestTtlMs, label: label.slice(0, LABEL_LENGTH_MAX) };
}

/** The error of options that are valid separately. */
export function longestFaults(ttlMs: number, longestTtlMs = ttlMs): string[] {
  return whole(ttlMs, TTL_MS_MAX)('longestTtlMs', longestTtlMs);
}

/** @throws SnowflakeError ARGUMENT_INVALID with every error */
export function holdTerms(lock: string, options: HoldOptions, terms: LockTerms): HoldTerms {
  const own = optionFaults(options, HOLD, 'A lock');
  // Does not use readOptions, which takes five times as long, because every lock is checked.
  const { ttlMs = terms.ttlMs, waitMs = 0, holdAtLeastMs = 0, signal } = options;
  const { holdAtMostMs = Infinity, permits = 1 } = options;
  const { longestTtlMs } = terms;
  const faults = [...lastNameFaults(lock, permits), ...own];
  if (typeof ttlMs === 'number' && ttlMs > longestTtlMs) {
    faults.push(
      `\`ttlMs\` is ${ttlMs}, and no lock may be held for longer than ${longestTtlMs} ms without ` +
        `being extended. It is extended automatically while its section runs, so a short one is ` +
        `enough; otherwise give all processes a higher \`longestTtlMs\`.`,
    );
  }
  if (own.length === 0) faults.push(...mostFaults(holdAtLeastMs, holdAtMostMs));
  if (faults.length > 0) throw refused(faults, '', 'ARGUMENT_INVALID');
  // The store reserves a lock for no longer than it may be held.
  const ownTtlMs = Math.min(ttlMs, holdAtMostMs);
  return { ttlMs: ownTtlMs, waitMs, holdAtLeastMs, holdAtMostMs, permits, signal };
}

const SEVERAL_MAX = 100;

/**
 * @returns the names in the order that every caller uses, so no two callers wait for each other,
 *   and the terms of each
 * @throws SnowflakeError ARGUMENT_INVALID with every error
 */
export function severalTerms(
  locks: readonly string[],
  options: SeveralOptions,
  terms: LockTerms,
): { readonly names: readonly string[]; readonly hold: HoldTerms } {
  const names = Array.isArray(locks) ? [...new Set<string>(locks)] : [];
  const faults = [
    ...(Array.isArray(locks)
      ? whole(1, SEVERAL_MAX)('locks.length', names.length)
      : [`Expected \`locks\` to be an array, got ${typeof locks}.`]),
    ...names.flatMap((name) => nameFaults('locks', name)),
    ...optionFaults(options, SEVERAL, 'Several locks'),
  ];
  if (faults.length > 0) throw refused(faults, '', 'ARGUMENT_INVALID');
  const sorted = names.toSorted((a, b) => (a < b ? -1 : 1));
  return { names: sorted, hold: holdTerms(sorted[0]!, options, terms) };
}

/** The error of options that are valid separately. */
export function mostFaults(leastMs: number, mostMs: number): string[] {
  return mostMs >= leastMs ? [] : whole(leastMs, TTL_MS_MAX)('holdAtMostMs', mostMs);
}

/** The name of a lock with permits leaves room for their numbers. */
function lastNameFaults(lock: string, permits: number): string[] {
  const faults = nameFaults('lock', lock);
  const isOne = faults.length > 0 || !Number.isInteger(permits) || permits === 1;
  return isOne ? faults : nameFaults('lock', permitName(lock, permits));
}
