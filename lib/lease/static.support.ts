/**
 * Static worker IDs from the configuration, endless and without a store or a lease; or claimed in a
 * registry, which checks them.
 *
 * Without a registry, uniqueness depends on the operator, who must give each process and thread a
 * different number. Across restarts it also depends on the host's clock.
 */
import { SnowflakeError } from '../errors.js';
import { refuse, wholeFaults } from '../options.js';
import { processWide } from '../process-wide.js';
import { pause } from '../time/timers.js';
import type {
  IDistributedSupport,
  LeaseAnswer,
  LeaseGrant,
  LeaseRequest,
  LeaseTerms,
  WorkerLease,
  WorkerRecord,
} from './distributed-support.js';
import type { KeeperParts } from './keeper.js';

/**
 * @throws SnowflakeError CONFIG_INVALID at start for a number outside the layout's worker IDs or
 * one that another generator of this thread uses.
 * @example
 * ```ts
 * import { SnowflakeModule, StaticSupport } from 'nestjs-snowflake';
 *
 * SnowflakeModule.forRoot({ support: new StaticSupport(7) }); // or workerId: 7, or 'static:7'
 * ```
 */
export class StaticSupport implements IDistributedSupport {
  readonly location = 'the configuration';

  constructor(readonly workerId: number) {
    refuse(wholeFaults('workerId', workerId, [0]));
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    const { workerIdMin, workerIdMax } = request;
    refuse(wholeFaults('workerId', this.workerId, [workerIdMin, workerIdMax]));
    return this.grant();
  }

  async refreshAlive(): Promise<LeaseAnswer> {
    return this.grant();
  }

  async workers(): Promise<WorkerRecord[]> {
    return [{ workerId: this.workerId, ceilingMs: Infinity, freeInMs: Infinity }];
  }

  private grant(): LeaseAnswer {
    return { status: 'ok', workerId: this.workerId, floorMs: -Infinity, ceilingMs: Infinity };
  }
}

/*
 * The endless worker IDs of this process, from the configuration, the host name, or a service of
 * the application. No registry separates two generators with the same number.
 *
 * Guarantee: within a thread, a number serves one generator at a time, and the next generator
 * starts after the last ID of the previous one. The operator must separate threads and processes.
 */

type Holder = Pick<LeaseTerms, 'fingerprint'> & { readonly token: string };

/** By layout and worker ID: the token, until its release, and the start of the next generator. */
const uses = processWide(
  'endless-worker-ids',
  () => new Map<string, { token: string | undefined; floorMs: number }>(),
);

/**
 * Returns the grant as it may be used here; a grant with an end stays as it is.
 * @throws SnowflakeError CONFIG_INVALID, retryable, for a number that another generator uses.
 */
export function claimEndless(grant: LeaseGrant, holder: Holder): LeaseGrant {
  if (grant.ceilingMs !== Infinity) return grant;
  const key = keyOf(holder, grant.workerId);
  const use = uses.get(key) ?? { token: undefined, floorMs: -Infinity };
  if (use.token !== undefined && use.token !== holder.token) {
    const { workerId } = grant;
    throw new SnowflakeError(
      'CONFIG_INVALID',
      `Worker id ${workerId} already serves another generator of this process, and both would ` +
        `make the same ids. Give each generator its own worker id, or close the other ` +
        `application first.`,
      // It may be closing, as in a hot reload, so the keeper waits a little.
      { retryable: true, details: { workerId } },
    );
  }
  use.token = holder.token;
  uses.set(key, use);
  return { ...grant, floorMs: Math.max(grant.floorMs, use.floorMs) };
}

/** Without this, a generator that starts within the same tick would generate the same IDs. */
export function giveBackEndless(
  lease: Holder & { readonly workerId: number },
  lastIssuedMs = -Infinity,
): void {
  const use = uses.get(keyOf(lease, lease.workerId));
  if (use?.token !== lease.token) return;
  use.token = undefined;
  use.floorMs = Math.max(use.floorMs, lastIssuedMs + 1);
}

function keyOf({ fingerprint }: Holder, workerId: number): string {
  return `${fingerprint} ${workerId}`;
}

/*
 * The start under a lease whose earlier IDs no registry has recorded.
 *
 * Guarantee: it waits until the clock has passed every time that the previous process could have
 * reached: its last tick plus the allowed run-ahead.
 */

/** No process or thread restarts within this time. */
const RESTART_MS_MIN = 10;
/** A timer fires at most this much before the clock reaches its time. */
const EARLY_MS = 10;

/**
 * @throws SnowflakeError CONFIG_INVALID if that takes longer than a start may; CLOCK_UNUSABLE if
 * the cause is a clock that was set back or stalls
 */
export async function untilNewIds(
  { ceilingMs, floorMs }: LeaseGrant,
  { support, window: { layout }, idClock, timers, aheadMsMax = 0, onNews }: KeeperParts,
  signal: AbortSignal,
  limitMs = Infinity,
): Promise<void> {
  const isUnknown = ceilingMs === Infinity && floorMs === -Infinity;
  if (!isUnknown && support.isVolatile !== true) return;
  const nowMs = idClock.now();
  const reachedMs = nowMs + aheadMsMax;
  const isShort = layout.unitMs <= RESTART_MS_MIN;
  const fromMs = isShort ? reachedMs : layout.msOf(layout.tickOf(reachedMs) + 1);
  const waitMs = fromMs - nowMs;
  if (waitMs > limitMs) {
    throw new SnowflakeError(
      'CONFIG_INVALID',
      `No registry knows which ids this worker id has made, so the start must wait ${waitMs} ms ` +
        `until the clock has passed them. This is the rest of a tick of this layout, and ` +
        `aheadMsMax. That is longer than startTimeoutMs (${limitMs}). Use a layout with shorter ` +
        `ticks, a smaller aheadMsMax, or a registry.`,
      { details: { waitMs } },
    );
  }
  let waitedMs = 0;
  let isReported = false;
  for (let leftMs = waitMs; leftMs > 0; leftMs = fromMs - idClock.now()) {
    const isBehind = waitedMs + leftMs > waitMs + EARLY_MS;
    const behind =
      `The clock of this host was set back or is frozen, so ids of this worker id start in ` +
      `${leftMs} ms by that clock. They then follow all ids of a process before this one.`;
    if (isBehind && waitedMs >= limitMs) {
      throw new SnowflakeError(
        'CLOCK_UNUSABLE',
        `${behind} The start gave up after startTimeoutMs (${limitMs}). Check the clock and its ` +
          `time synchronization, then start again.`,
        { details: { waitMs: leftMs } },
      );
    }
    if (isBehind && !isReported) onNews(behind);
    isReported ||= isBehind;
    const ms = Math.min(leftMs, waitMs, Math.max(EARLY_MS, limitMs - waitedMs));
    await pause(timers, ms, signal);
    waitedMs += ms;
  }
}

/*
 * A claim lets a registry check the worker ID. It requests only this worker ID, even if another
 * process holds it.
 *
 * Guarantee: two processes with the same number generate no duplicate IDs. Each call of one process
 * fences the other, which keeps its range. Within a process, a second claim is refused.
 */

/** A worker ID, or a function that returns it when the application starts. */
export type WorkerIdSource = number | (() => number | Promise<number>);

/**
 * Returns a support for the option `support`: a worker ID from the process itself, checked by a
 * registry.
 */
export interface WorkerIdClaim {
  readonly workerId: WorkerIdSource;
  /** A URL or a support that leases worker IDs. */
  readonly of: IDistributedSupport | string;
}

export function isClaim(value: unknown): value is WorkerIdClaim {
  return typeof value === 'object' && value !== null && 'workerId' in value && 'of' in value;
}

/** The claims of this process, by registry, layout, and worker ID. */
const claimants = processWide('claimed-worker-ids', () => new Map<string, object>());

const TWO_SOURCES =
  'Both `support` and `workerId` give a worker id, and a number can be checked only by a ' +
  "registry. Give one of them, or a `support` such as 'redis://host:6379?namespace=shop'.";

export class ClaimSupport implements IDistributedSupport {
  readonly takesOver = true;
  readonly release?: NonNullable<IDistributedSupport['release']>;
  readonly workers?: NonNullable<IDistributedSupport['workers']>;
  readonly advice?: NonNullable<IDistributedSupport['advice']>;
  private key: string | undefined;

  /** @throws SnowflakeError CONFIG_INVALID for a number or a support that cannot be claimed */
  constructor(
    readonly workerId: number,
    private readonly of: IDistributedSupport,
  ) {
    const { workerId: own, shared } = of as { readonly workerId?: unknown; shared?: unknown };
    const isRegistry = own === undefined && shared === undefined;
    refuse([...wholeFaults('workerId', workerId, [0]), ...(isRegistry ? [] : [TWO_SOURCES])]);
    if (of.release) {
      this.release = (lease, lastMs) => {
        this.leave();
        return of.release!(lease, lastMs);
      };
    }
    if (of.workers) this.workers = () => of.workers!();
    if (of.advice) this.advice = () => of.advice!();
  }

  get location(): string | undefined {
    const { location } = this.of;
    return location && `worker id ${this.workerId} in ${location}`;
  }

  get namespace(): string | undefined {
    return this.of.namespace;
  }

  get statement(): string | undefined {
    return this.of.statement;
  }

  get lossWindowMs(): number | undefined {
    return this.of.lossWindowMs;
  }

  get isVolatile(): boolean | undefined {
    return this.of.isVolatile;
  }

  async getNextWorkId(request: LeaseRequest): Promise<LeaseAnswer> {
    const { workerId } = this;
    // Two claims of one process would take the worker ID from each other continually.
    const key = `${this.location} ${request.fingerprint}`;
    if ((claimants.get(key) ?? this) !== this) {
      throw new SnowflakeError(
        'CONFIG_INVALID',
        `Worker id ${workerId} is already claimed by another generator of this process, and they ` +
          `would take it from each other. Give each generator its own number or its own ` +
          `namespace, or close the other application first.`,
        { retryable: true, details: { workerId } },
      );
    }
    claimants.set(key, this);
    this.key = key;
    return this.of.getNextWorkId({ ...request, workerIdMin: workerId, workerIdMax: workerId });
  }

  refreshAlive(lease: WorkerLease): Promise<LeaseAnswer> {
    return this.of.refreshAlive(lease);
  }

  async close(): Promise<void> {
    this.leave();
    await this.of.close?.();
  }

  private leave(): void {
    if (this.key !== undefined && claimants.get(this.key) === this) claimants.delete(this.key);
  }
}
