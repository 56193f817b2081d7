/**
 * Turns the status of a generator into up, degraded or down, with the reason in words.
 *
 * Promise: no store is asked, and a store that is away does not mean down while ids can be made.
 */
import type { IdMaker } from '../nest/id-maker.js';
import type { IdMakerStatus } from '../nest/id-maker-status.js';

export interface SnowflakeHealthOptions {
  /** The generator to check, by its `name`. Default: the one without a name. */
  readonly generator?: string;
  /**
   * Reports down once the lease has less than this left, although ids can still be made: for a
   * readiness check that moves traffic away early. Default: no such limit.
   */
  readonly leaseMsMin?: number;
}

/** What a check shows in addition to its status. */
export interface SnowflakeHealth extends Record<string, unknown> {
  readonly state: IdMakerStatus['state'];
  readonly workerId: number | undefined;
  /** Negative once the range has ended; undefined without a lease or for one without end. */
  readonly leaseRemainingMs: number | undefined;
  /** The last date that fits into an id of the layout, ISO 8601. */
  readonly layoutEndsAt: string;
  readonly incarnation: string | undefined;
  /** Why the status is not up. */
  readonly message?: string;
}

export interface HealthReport {
  readonly status: 'up' | 'degraded' | 'down';
  readonly health: SnowflakeHealth;
}

type Verdict = readonly [status: HealthReport['status'], message?: string];

const VERDICTS: { readonly [state in IdMakerStatus['state']]: Verdict } = {
  unassigned: [
    'down',
    'No worker id is held, so no id can be made. The store is asked until it grants one.',
  ],
  active: ['up'],
  degraded: [
    'degraded',
    'The lease could not be renewed; ids are still made in the range that was leased.',
  ],
  stretched: [
    'degraded',
    'The lease could not be renewed and is about to end; ids are made from its reserve and ' +
      'keep the last timestamp.',
  ],
  exhausted: [
    'down',
    'The leased range is used up, so no id can be made until the store answers again.',
  ],
  fenced: [
    'degraded',
    'The store no longer has this process as the holder. Ids are made in the range it already ' +
      'has, which no other process has, until another worker id is leased.',
  ],
  switching: [
    'degraded',
    'Another worker id is leased; ids move to its range when the current range ends. Nothing ' +
      'has to be done.',
  ],
  released: ['down', 'The worker id was given back at shutdown, so no id can be made.'],
};

export function healthOf(
  ids: Pick<IdMaker, 'status' | 'layout'>,
  { leaseMsMin = -Infinity }: SnowflakeHealthOptions = {},
): HealthReport {
  const { layout } = ids;
  const { state, workerId, incarnation, leaseEndsAt, readAt } = ids.status;
  const leaseRemainingMs = leaseEndsAt && leaseEndsAt.getTime() - readAt.getTime();
  const layoutEndsAt = layout.lastDate.toISOString();
  const isOver = readAt > layout.lastDate;
  const [verdict, message]: Verdict = isOver
    ? ['down', `The layout ran out on ${layoutEndsAt}, so no id can be made.`]
    : tooShort(VERDICTS[state], leaseRemainingMs ?? Infinity, leaseMsMin);
  const health = { state, workerId, leaseRemainingMs, layoutEndsAt, incarnation };
  return { status: verdict, health: message === undefined ? health : { ...health, message } };
}

function tooShort(verdict: Verdict, remainingMs: number, leaseMsMin: number): Verdict {
  const [status, message] = verdict;
  if (status === 'down' || remainingMs >= leaseMsMin) return verdict;
  const limit = `The lease ends in ${remainingMs} ms, less than leaseMsMin (${leaseMsMin}).`;
  return ['down', message === undefined ? limit : `${limit} ${message}`];
}
