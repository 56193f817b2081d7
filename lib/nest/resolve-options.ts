/**
 * The options of the module and resolveOptions(), which checks and completes them. They share one
 * file, so a new option is described, named and checked in one place.
 *
 * Guarantee: the start reports all errors at once, each with the given value.
 */
import type { Clock } from '../core/clock.js';
import { GENERATOR } from '../core/generator/snowflake-generator.js';
import { BitLayout, isLayout } from '../core/layout/bit-layout.js';
import type { Epoch, FieldSpec } from '../core/layout/layout-fields.js';
import { layouts } from '../core/layout/presets.js';
import { regionOf, workerIdRangeOf, type WorkerIdRange } from '../core/layout/worker-id-range.js';
import { isSharedLease, sharedLayout, type SharedLease } from '../core/window/shared-lease.js';
import type { WorkerIdClaim, WorkerIdSource } from '../lease/static.support.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import type { WorkerIdChange } from '../lease/keeper.js';
import { LEASE, minRangeMsOf, relationFaults, type LeaseOptions } from '../lease/lease-options.js';
import type { RegionPlan } from '../lease/region-claim.js';
import { format } from '../messages.js';
import { later, readOptions, typed, whole, type OptionTable } from '../options.js';
import type { SupportFromUrl } from '../stores/schemes.js';
import type { Timers } from '../time/timers.js';
import { applicationName, GENERATOR_OPTIONS } from './generator-options.js';
import {
  closeQuietly,
  invalid,
  made,
  noOptions,
  openSupports,
  SCHEDULER_FAULT,
  type OpenSupports,
} from './resolve-support.js';

/** The options of the lease that have the same name here; undefined is the default. */
type GivenLeaseOptions = {
  readonly [name in keyof Omit<LeaseOptions, 'ttlMs'>]?: LeaseOptions[name] | undefined;
};

/** Options of SnowflakeModule. Only the source of the worker ID has no default. */
export interface SnowflakeModuleOptions extends GivenLeaseOptions {
  /**
   * The source of the worker ID: a URL ('static:7', 'redis://...'), a support, or the result of
   * `ordinalSupport({ of })`. In a worker thread also the `sharedLease` of another IdMaker.
   */
  readonly support?: IDistributedSupport | WorkerIdClaim | SharedLease | string | undefined;
  /** URL schemes of your own for `support`: `{ zookeeper: (url) => new ZooKeeper(url) }`. */
  readonly supports?: Readonly<Record<string, SupportFromUrl>> | undefined;
  /**
   * The worker ID, or a function that returns it at the start. By itself it is not verified. With a
   * `support`, it is claimed there, even if another process holds it.
   */
  readonly workerId?: WorkerIdSource | undefined;
  /** A layout, or its fields, the most significant first. Default layouts.snowflake(). */
  readonly layout?: BitLayout | readonly FieldSpec[] | undefined;
  /** The start of the time in IDs. Default that of the layout, 2024-01-01T00:00:00Z. */
  readonly epoch?: Epoch | undefined;
  /** Worker fields with a fixed value, e.g. { datacenter: 3 }; the others are leased. */
  readonly workerFields?: Readonly<Record<string, number>> | undefined;
  /**
   * A registry that all regions can reach: a URL or a support with its own namespace. Each region
   * claims the number of its `workerFields` there, so a duplicate number is detected. IDs do not
   * need it, so it may be unavailable.
   */
  readonly regions?: IDistributedSupport | string | undefined;
  /** How far ahead of the store's clock a lease reaches. 10 s to 10 min, default 60 s. */
  readonly leaseTtlMs?: number | undefined;
  /**
   * How far IDs may run ahead of the clock once a tick's sequence is used up, ms. Default 1000, or
   * 0 for a lease without end, such as a static worker ID.
   */
  readonly aheadMsMax?: number | undefined;
  /** The start of each tick's sequence: 'zero', or 'random' so that `id % n` is uniform. */
  readonly sequenceStart?: 'zero' | 'random' | undefined;
  /** Lets worker_threads of this process generate IDs under this lease: see IdMaker.sharedLease. */
  readonly sharesLease?: boolean | undefined;
  /** Starts without a worker ID and leases one in the background. Default false. */
  readonly lazy?: boolean | undefined;
  /**
   * Called for each change of `status.workerId`: for the first worker ID (`from` is undefined),
   * after a loss or a move, and at the end (`to` is undefined). Use it for labels of metrics,
   * traces and logs. It is not awaited, and its errors are logged.
   */
  readonly onWorkerIdChange?: ((change: WorkerIdChange) => void | Promise<void>) | undefined;
  /** Operators see this name next to host and pid. Default: the name in package.json. */
  readonly application?: string | undefined;
  /** Reads the time; for tests. */
  readonly clock?: Clock | undefined;
  /** Sets timers; for tests. */
  readonly timers?: Timers | undefined;
}

const { ttlMs, ...LEASE_ROWS } = LEASE;
export const MODULE_OPTIONS = {
  support: [later, undefined],
  supports: [later, undefined],
  workerId: [later, undefined],
  layout: [later, undefined],
  epoch: [later, undefined],
  workerFields: [later, undefined],
  regions: [later, undefined],
  leaseTtlMs: ttlMs,
  ...LEASE_ROWS,
  aheadMsMax: GENERATOR.aheadMsMax,
  sequenceStart: GENERATOR.sequenceStart,
  sharesLease: [typed('boolean'), false],
  onWorkerIdChange: [typed('function'), undefined],
  ...GENERATOR_OPTIONS,
} satisfies OptionTable<SnowflakeModuleOptions>;

/**
 * Three steps: parse the options, open the stores that they name, and check one against the other.
 * The steps collect their faults, so one error reports all of them.
 *
 * @param found faults elsewhere in the application, reported together with those of the options
 * @throws SnowflakeError CONFIG_INVALID with every fault in `details.faults`; nothing is open then
 */
export async function resolveOptions(
  options: SnowflakeModuleOptions,
  hasScheduler: boolean,
  found: readonly string[] = [],
): Promise<SnowflakeConfig> {
  const faults: string[] = [...(hasScheduler ? [] : [SCHEDULER_FAULT]), ...found];
  if (typeof options !== 'object' || options === null)
    throw invalid([...faults, noOptions(options, "support: 'redis://host:6379?namespace=shop'")]);
  const { terms, faults: own } = readOptions(options, MODULE_OPTIONS, 'SnowflakeModule');
  const shared = isSharedLease(options.support) ? options.support : undefined;
  const ownLayout = await made(() => givenLayout(options), own);
  const layout = shared === undefined ? ownLayout : joinLayout(options, shared, ownLayout, own);
  const range = layout && (await made(() => workerIdRangeOf(layout, options.workerFields), own));
  if (layout !== undefined) own.push(...endFaults(layout, terms.clock));
  const { aheadMsMax = shared?.aheadMsMax, application = applicationName() } = terms;
  const sequenceStart = options.sequenceStart ?? shared?.sequenceStart ?? 'zero';
  const lease = { ...terms, ttlMs: terms.leaseTtlMs };
  const others = { ...terms, aheadMsMax, sequenceStart, application, lease };
  const opened = await openSupports(options, faults);
  const config = crossCheck({ ...others, layout, range }, opened, faults);
  faults.push(...own);
  if (config !== undefined && faults.length === 0) return config;
  await closeQuietly(opened.support);
  await closeQuietly(opened.regions);
  throw invalid(faults);
}

function endFaults(layout: BitLayout, clock: Clock): string[] {
  const isClock = typeof (clock as Partial<Clock> | null)?.now === 'function';
  if (!isClock || layout.lastDate.getTime() >= clock.now()) return [];
  return [
    `The layout ${layout.fingerprint} ran out on ${layout.lastDate.toISOString()}. Use a ` +
      'later `epoch` in a new id space, or a layout with more timestamp bits.',
  ];
}

function givenLayout({ layout, epoch }: SnowflakeModuleOptions): BitLayout {
  if (layout === undefined) return layouts.snowflake({ epoch });
  if (Array.isArray(layout)) return new BitLayout({ epoch, fields: layout as FieldSpec[] });
  if (!isLayout(layout)) {
    throw invalid([`Expected \`layout\` to be a BitLayout or its fields, got ${format(layout)}.`]);
  }
  return epoch === undefined ? layout : layout.withEpoch(epoch);
}

/** A thread that shares a lease uses the layout of that lease; its options need no layout. */
function joinLayout(
  options: SnowflakeModuleOptions,
  shared: SharedLease,
  ownLayout: BitLayout | undefined,
  faults: string[],
): BitLayout {
  const layout = sharedLayout(shared);
  const isNamed = options.layout !== undefined || options.epoch !== undefined;
  if (isNamed && ownLayout && ownLayout.fingerprint !== layout.fingerprint) {
    faults.push(
      `The shared lease is for layout ${layout.fingerprint}, but this thread is configured for ` +
        `${ownLayout.fingerprint}. Leave \`layout\` and \`epoch\` out, or give the same ones.`,
    );
  }
  const { aheadMsMax = shared.aheadMsMax, onWorkerIdChange } = options;
  if (onWorkerIdChange !== undefined) {
    faults.push(
      'This thread shares the lease of another one, which alone calls `onWorkerIdChange`. Give ' +
        'it there.',
    );
  }
  if (aheadMsMax !== shared.aheadMsMax) {
    faults.push(
      `Expected \`aheadMsMax\` to be ${shared.aheadMsMax ?? 'left out'}, as in the thread that ` +
        `holds the lease, got ${format(aheadMsMax)}. Leave it out: threads that share a ` +
        `lease have the same limit.`,
    );
  }
  return layout;
}

/**
 * Checks the options against their support.
 *
 * @returns undefined if a part is missing; its fault is already reported
 */
function crossCheck(
  {
    layout,
    range,
    ...others
  }: Omit<SnowflakeConfig, 'support' | 'layout' | 'workerIds' | 'region'> & {
    readonly layout: BitLayout | undefined;
    readonly range: WorkerIdRange | undefined;
  },
  { support, regions }: OpenSupports,
  faults: string[],
): SnowflakeConfig | undefined {
  // A support without a loss window has no store, so its worker IDs have no lease time.
  const { lossWindowMs } = support ?? {};
  const minRangeMs = lossWindowMs === undefined || !layout ? 0 : minRangeMsOf(layout.unitMs);
  faults.push(...relationFaults(others.lease, { lossWindowMs: lossWindowMs ?? 0, minRangeMs }));
  if (support === undefined || layout === undefined || range === undefined) return undefined;
  const { workerId, takesOver } = support;
  if (workerId !== undefined) {
    faults.push(...whole(range.min, range.max)('workerId', workerId));
  }
  const region = regions && { support: regions, ...regionOf(layout, range) };
  if (region !== undefined) faults.push(...regionFaults(region, support));
  const isClaimed = workerId !== undefined && takesOver === true;
  const workerIds = isClaimed ? { min: workerId, max: workerId } : range;
  return { ...others, layout, support, workerIds, region };
}

/** The maximum number of bits for regions. */
const REGION_BITS_MAX = 16;

function regionFaults({ support: regions, bits }: RegionPlan, support: IDistributedSupport) {
  const faults: string[] = [];
  if (bits === 0) {
    faults.push(
      '`regions` claims the number that fixed worker fields make, and none is fixed. Give ' +
        '`workerFields: { region: 3 }`, and a layout with such a field before the others.',
    );
  } else if (bits > REGION_BITS_MAX) {
    faults.push(
      `\`regions\` takes fixed worker fields of ${REGION_BITS_MAX} bits at most, got ${bits}. ` +
        'Fix the field of the region alone.',
    );
  }
  if (!hasRegistry(support)) {
    faults.push(
      '`regions` needs a `support` with a registry that outlives the process: by its incarnation ' +
        'a region is known. Leave it out with a static worker id, with MemorySupport, and in a ' +
        'thread that shares the lease of another.',
    );
  }
  if (!hasRegistry(regions) || regions === support) {
    faults.push(
      'Expected `regions` to be a registry of its own, that all regions can reach, such as ' +
        "'etcd://host:2379?namespace=shop-regions'.",
    );
  }
  return faults;
}

/** A support with a single worker ID cannot hold the number of a region. */
function hasRegistry({ lossWindowMs, isVolatile }: IDistributedSupport): boolean {
  return lossWindowMs !== undefined && isVolatile !== true;
}

/*
 * The result: the complete options of a generator.
 */

export interface SnowflakeConfig {
  readonly support: IDistributedSupport;
  readonly lease: LeaseOptions;
  readonly layout: BitLayout;
  readonly workerIds: WorkerIdRange;
  /** The number of this region, and the registry that holds it. */
  readonly region: RegionPlan | undefined;
  /** Undefined lets the lease decide: see aheadMsMaxOf in core. */
  readonly aheadMsMax: number | undefined;
  readonly sequenceStart: 'zero' | 'random';
  readonly sharesLease: boolean;
  readonly onWorkerIdChange: SnowflakeModuleOptions['onWorkerIdChange'];
  readonly lazy: boolean;
  readonly application: string;
  readonly clock: Clock;
  readonly timers: Timers;
}
