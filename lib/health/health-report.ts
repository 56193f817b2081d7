/**
 * From the status of a generator to up, degraded or down, with the reason in words.
 *
 * Promise: it asks nobody. A store that is away is not down as long as ids can be made without it.
 */
import type { IdMaker } from '../nest/id-maker.js';
import type { IdMakerStatus } from '../nest/id-maker-status.js';

export interface SnowflakeHealthOptions {
  /** The `name` of the SnowflakeModule, where there are several. */
  readonly name?: string;
  /**
   * Down as soon as the lease has less than this left, although ids can still be made. For a
   * readiness check that moves traffic away early. Default: no such limit.
   */
  readonly leaseMsMin?: number;
}

/** What the check shows beside its status. */
export interface SnowflakeHealth extends Record<string, unknown> {
  readonly state: IdMakerStatus['state'];
  readonly workerId: number | undefined;
  /** Negative when the range is over; undefined without a lease or for one without end. */
  readonly leaseRemainingMs: number | undefined;
  /** The last date that an id of the layout can carry, ISO 8601. */
  readonly layoutEndsAt: string;
  readonly incarnation: string | undefined;
  /** Why it is not simply up. */
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
    'No worker id is held, so no id can be made. The store is asked for one until it grants it.',
  ],
  active: ['up'],
  degraded: [
    'degraded',
    'The lease could not be renewed; ids are made from the range already leased.',
  ],
  stretched: [
    'degraded',
    'The lease could not be renewed and ends; ids are made from its last part, and their time ' +
      'stands still.',
  ],
  exhausted: [
    'down',
    'The leased range is used up, so no id can be made. Ids come back when the store answers.',
  ],
  fenced: [
    'degraded',
    'The store no longer knows this process as the holder; ids are made from the range it has, ' +
      'which nobody else has, until another worker id is leased.',
  ],
  switching: [
    'degraded',
    'Another worker id is ready, and ids go on in its range when the one in use is over. Nothing ' +
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
