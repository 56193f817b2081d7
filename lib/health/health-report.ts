/**
 * Turns the status of a generator into up, degraded or down, with the reason in words.
 *
 * Guarantee: it calls no store. An unavailable store does not mean down while the process can
 * generate IDs.
 */
import type { GeneratorState } from '../generator.js';
import type { LeaseState } from '../lease/held-lease.js';
import type { RegionStatus } from '../lease/region-claim.js';
import {
  hasLayout,
  hasWorkerId,
  type IdMaker,
  type IdMakerStatus,
  type WorkerStatus,
} from '../nest/id-maker.js';
import { nameFaults, whole, type OptionTable } from '../options.js';

/** The generator to check, and the limit below which it is reported as down. */
export interface SnowflakeHealthOptions {
  /** The generator to check, by its `name`. Default: the one without a name. */
  readonly generator?: string | undefined;
  /**
   * Reports down when the lease has less than this left, although it still generates IDs, so that a
   * readiness check can move traffic away early. Without a worker ID, this applies to the buffered
   * IDs while the store provides no more. ms; default: no limit.
   */
  readonly leaseMsMin?: number | undefined;
}

/** The details of a check, next to its status. */
export interface SnowflakeHealth extends Record<string, unknown> {
  readonly state: IdMakerStatus['state'];
  /** Undefined without a lease, and for a generator without worker IDs. */
  readonly workerId: number | undefined;
  /** Negative once the range has ended; undefined without a lease or for an endless lease. */
  readonly leaseRemainingMs: number | undefined;
  /** The last date that fits into an ID of the layout, ISO 8601; undefined without a layout. */
  readonly layoutEndsAt: string | undefined;
  readonly incarnation: string | undefined;
  /** The options' assumptions about the store, such as `keepsWrites`; absent without any. */
  readonly statement?: string | undefined;
  /** The number of IDs that can be generated without the store; only without a worker ID. */
  readonly buffered?: number | undefined;
  readonly bufferedMs?: number | undefined;
  /** Whether another region uses this region's number; only with the option `regions`. */
  readonly region?: RegionStatus['state'] | undefined;
  /** The reason why the status is not up. */
  readonly message?: string | undefined;
  /** The command that prints the runbook entry. */
  readonly runbook?: string | undefined;
}

export interface HealthReport {
  readonly status: 'up' | 'degraded' | 'down';
  readonly health: SnowflakeHealth;
}

const DAY_MS = 86_400_000;

type Verdict = readonly [status: HealthReport['status'], message?: string];

const VERDICTS: { readonly [state in LeaseState]: Verdict } = {
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
    'The lease could not be renewed. Ids are generated from what is left of it, its reserve, and ' +
      'no longer follow the clock; how fast they are used decides how long it lasts.',
  ],
  exhausted: [
    'down',
    'The leased range is used up, so no id can be made until the store answers again.',
  ],
  fenced: [
    'degraded',
    'The store no longer lists this process as the holder. Ids are generated in the range it ' +
      'already has, which no other process has, until another worker id is leased.',
  ],
  switching: [
    'degraded',
    'Another worker id is leased; ids move to its range when the current range ends. Nothing ' +
      'has to be done.',
  ],
  released: ['down', 'The worker id was given back at shutdown, so no id can be made.'],
};

/** The verdicts for a generator without a worker ID. */
const BUFFER_VERDICTS: { readonly [state in GeneratorState]: Verdict } = {
  unassigned: [
    'down',
    'The store has given no ids yet, so no id can be made. It is asked until it gives some.',
  ],
  active: ['up'],
  degraded: ['degraded', 'The store gives no more ids; buffered ones are still used.'],
  exhausted: ['down', 'No id is buffered, so none can be made until the store gives more.'],
  released: ['down', 'The generator was stopped at shutdown, so no id can be made.'],
};

/** NaN as the limit makes every lease too short. */
export const HEALTH = {
  generator: [nameFaults, undefined],
  leaseMsMin: [whole(0, DAY_MS), undefined],
} satisfies OptionTable<SnowflakeHealthOptions>;

export function healthOf(
  ids: Pick<IdMaker, 'status' | 'layout'>,
  { leaseMsMin = -Infinity }: SnowflakeHealthOptions = {},
): HealthReport {
  const { status } = ids;
  const { state, workerId, incarnation } = status;
  const layout = hasLayout(status) ? ids.layout : undefined;
  const layoutEndsAt = layout?.lastDate.toISOString();
  const facts = { state, workerId, leaseRemainingMs: undefined, layoutEndsAt, incarnation };
  if (!hasWorkerId(status)) {
    const { buffered, bufferedMs } = status;
    const verdict = BUFFER_VERDICTS[status.state];
    // A store that responds always provides more IDs.
    const isShort = verdict[0] === 'degraded' && (bufferedMs ?? Infinity) < leaseMsMin;
    const short = `Buffered ids last ${bufferedMs} ms, less than leaseMsMin (${leaseMsMin}).`;
    const answer: Verdict = isShort ? ['down', `${short} ${verdict[1]}`] : verdict;
    return reported(answer, { ...facts, buffered, bufferedMs }, state);
  }
  const { leaseEndsAt, readAt } = status;
  const leaseRemainingMs = leaseEndsAt && leaseEndsAt.getTime() - readAt.getTime();
  const isOver = layout !== undefined && readAt > layout.lastDate;
  const { region, statement } = status.kind === 'lease' ? status : {};
  const verdict: Verdict = isOver
    ? ['down', `The layout ran out on ${layoutEndsAt}, so no id can be made.`]
    : tooShort(
        withRegion(VERDICTS[status.state], region),
        leaseRemainingMs ?? Infinity,
        leaseMsMin,
      );
  const health = {
    ...facts,
    leaseRemainingMs,
    ...(statement !== undefined && { statement }),
    ...(region && { region: region.state }),
  };
  return reported(verdict, health, isOver ? 'TIME_EXHAUSTED' : runbookOf(status));
}

/** An active lease fails the check only because of its region or the check's limit. */
function runbookOf(status: WorkerStatus): string {
  if (status.state !== 'active') return status.state;
  const { region } = status.kind === 'lease' ? status : {};
  if (region?.message === undefined) return 'SnowflakeLeaseRunsOut';
  return region.state === 'conflict' ? 'REGION_TAKEN' : 'SnowflakeRegionUnchecked';
}

function reported(
  [status, message]: Verdict,
  health: SnowflakeHealth,
  runbook: string,
): HealthReport {
  if (message === undefined) return { status, health };
  return { status, health: { ...health, message, runbook: `npx snowflake explain ${runbook}` } };
}

/**
 * A conflict is not `down`, because this process cannot tell which region is wrong. Otherwise, a
 * process with a wrong number, started while the right region is cut off, would stop that region.
 */
function withRegion(verdict: Verdict, region: RegionStatus | undefined): Verdict {
  if (region?.message === undefined) return verdict;
  const [status, message] = verdict;
  const text = message === undefined ? region.message : `${region.message} ${message}`;
  return [status === 'up' ? 'degraded' : status, text];
}

function tooShort(verdict: Verdict, remainingMs: number, leaseMsMin: number): Verdict {
  const [status, message] = verdict;
  if (status === 'down' || remainingMs >= leaseMsMin) return verdict;
  const end = remainingMs < 0 ? `ended ${-remainingMs} ms ago` : `ends in ${remainingMs} ms`;
  const limit = `The lease ${end}, less than leaseMsMin (${leaseMsMin}).`;
  return ['down', message === undefined ? limit : `${limit} ${message}`];
}
