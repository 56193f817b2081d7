/**
 * The options of the module and resolveOptions(), which checks and completes them: in one file, so
 * that a new option is described, named and checked in one place.
 *
 * Guarantee: every fault is reported at start, all of them at once, each with the value given.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock, type Clock } from '../core/clock.js';
import { orderFaults } from '../core/generator/snowflake-generator.js';
import { BitLayout, isLayout } from '../core/layout/bit-layout.js';
import type { Epoch, FieldSpec } from '../core/layout/layout-fields.js';
import { layouts } from '../core/layout/presets.js';
import { regionOf, workerIdRangeOf, type WorkerIdRange } from '../core/layout/worker-id-range.js';
import { isSharedLease, sharedLayout, type SharedLease } from '../core/window/shared-lease.js';
import type { WorkerIdClaim, WorkerIdSource } from '../lease/static.support.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import type { WorkerIdChange } from '../lease/keeper.js';
import {
  LEASE_DEFAULTS,
  leaseFaults,
  minRangeMsOf,
  relationFaults,
  type LeaseOptions,
  type LeaseRoom,
} from '../lease/lease-options.js';
import type { RegionPlan } from '../lease/region-claim.js';
import { format } from '../messages.js';
import { methodFaults, TIMER_METHODS, typeFaults, unknownNames, wholeFaults } from '../options.js';
import type { SupportFromUrl } from '../stores/schemes.js';
import { systemTimers, type Timers } from '../time/timers.js';
import {
  closeQuietly,
  faultsOf,
  invalid,
  noOptions,
  openSupports,
  SCHEDULER_FAULT,
  type OpenSupports,
} from './resolve-support.js';

/** The options of the lease that have the same name here; undefined is the default. */
type GivenLeaseOptions = {
  readonly [name in keyof Omit<LeaseOptions, 'ttlMs'>]?: LeaseOptions[name] | undefined;
};

/** Options of SnowflakeModule. All have a default but where the worker id comes from. */
export interface SnowflakeModuleOptions extends GivenLeaseOptions {
  /**
   * The source of the worker id: a URL ('static:7', 'redis://...'), a support, or what
   * `ordinalSupport({ of })` gives; in a worker thread also the `sharedLease` of another's IdMaker.
   */
  readonly support?: IDistributedSupport | WorkerIdClaim | SharedLease | string | undefined;
  /** URL schemes of your own for `support`: `{ zookeeper: (url) => new ZooKeeper(url) }`. */
  readonly supports?: Readonly<Record<string, SupportFromUrl>> | undefined;
  /**
   * The worker id, or a function that gives it at the start. Alone nobody checks it; with a
   * `support` it is claimed there, also from whoever holds it.
   */
  readonly workerId?: WorkerIdSource | undefined;
  /** A layout, or its fields, the most significant first. Default layouts.snowflake(). */
  readonly layout?: BitLayout | readonly FieldSpec[] | undefined;
  /** When the time in ids starts. Default that of the layout, 2024-01-01T00:00:00Z. */
  readonly epoch?: Epoch | undefined;
  /** Worker fields with a fixed value, e.g. { datacenter: 3 }; the others are leased. */
  readonly workerFields?: Readonly<Record<string, number>> | undefined;
  /**
   * A registry that all regions can reach, in which each claims the number that its `workerFields`
   * make, so that two regions with one number are noticed: a URL or a support, with a namespace of
   * its own. It is not needed for ids, and may be away.
   */
  readonly regions?: IDistributedSupport | string | undefined;
  /** How far ahead of the store's clock a lease reaches. 10 s to 10 min, default 60 s. */
  readonly leaseTtlMs?: number | undefined;
  /**
   * How far ids may run ahead of the clock once a tick's sequence is used up. Default 1000, or 0
   * for a lease without end, such as a static worker id.
   */
  readonly aheadMsMax?: number | undefined;
  /** The start of each tick's sequence: 'zero', or 'random' so that `id % n` is even. */
  readonly sequenceStart?: 'zero' | 'random' | undefined;
  /** Lets worker_threads of this process make ids under this lease: see IdMaker.sharedLease. */
  readonly sharesLease?: boolean | undefined;
  /** Starts without a worker id and leases one in the background. Default false. */
  readonly lazy?: boolean | undefined;
  /**
   * Called each time `status.workerId` becomes another: for the first worker id (`from` is
   * undefined), after a loss or a move, and at the end (`to` is undefined). For labels of metrics,
   * traces and logs; it is not awaited, and an error of it is logged.
   */
  readonly onWorkerIdChange?: ((change: WorkerIdChange) => void | Promise<void>) | undefined;
  /** Operators see this name next to host and pid. Default: the name in package.json. */
  readonly application?: string | undefined;
  /** Reads the time; for tests. */
  readonly clock?: Clock | undefined;
  /** Sets timers; for tests. */
  readonly timers?: Timers | undefined;
}

/** Beside those of the lease. */
const OWN_NAMES =
  'support, supports, workerId, layout, epoch, workerFields, regions, leaseTtlMs, aheadMsMax, ' +
  'sequenceStart, sharesLease, lazy, onWorkerIdChange, application, clock, timers';

const NAMES = [...OWN_NAMES.split(', '), ...Object.keys(LEASE_DEFAULTS)]
  .filter((name) => name !== 'ttlMs')
  .toSorted()
  .join(', ');

/**
 * Three steps: parse what the options say, open what they name, and check the one against the
 * other. The steps collect their faults, so that one error reports all of them.
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
  const parsed = parseOptions(options);
  const opened = await openSupports(options, faults);
  const config = crossCheck(parsed, opened, faults);
  faults.push(...parsed.faults);
  if (config !== undefined && faults.length === 0) return config;
  await closeQuietly(opened.support);
  await closeQuietly(opened.regions);
  throw invalid(faults);
}

/*
 * Step one, parse: pure, each option by itself. A part with a fault is undefined afterwards, and
 * the checks that need it are left out.
 */

interface ParsedOptions {
  readonly layout: BitLayout | undefined;
  readonly workerIds: WorkerIdRange | undefined;
  readonly lease: LeaseOptions | undefined;
  readonly others: Omit<SnowflakeConfig, 'support' | 'layout' | 'workerIds' | 'lease' | 'region'>;
  readonly faults: readonly string[];
}

function parseOptions(options: SnowflakeModuleOptions): ParsedOptions {
  const faults: string[] = [];
  const shared = isSharedLease(options.support) ? options.support : undefined;
  const layout = parseLayout(options, shared, faults);
  const workerIds = layout && parseWorkerIds(layout, options.workerFields, faults);
  const lease = parseLease(options, faults);
  faults.push(...unknownNames(options, NAMES, 'SnowflakeModule'));
  const environment = parseEnvironment(options, faults);
  const others = { ...environment, ...parseOrder(options, shared, faults) };
  if (layout !== undefined) faults.push(...endFaults(layout, environment.clock));
  return { layout, workerIds, lease, others, faults };
}

function parseLayout(
  options: LayoutOptions,
  shared: SharedLease | undefined,
  faults: string[],
): BitLayout | undefined {
  let layout: BitLayout | undefined;
  try {
    layout = givenLayout(options);
  } catch (error) {
    faults.push(...faultsOf(error));
  }
  return shared === undefined ? layout : joinLayout(options, shared, layout, faults);
}

function parseWorkerIds(
  layout: BitLayout,
  workerFields: SnowflakeModuleOptions['workerFields'],
  faults: string[],
): WorkerIdRange | undefined {
  const range = workerIdRangeOf(layout, workerFields);
  if (!('faults' in range)) return range;
  faults.push(...range.faults);
  return undefined;
}

export function parseLease(
  options: SnowflakeModuleOptions,
  faults: string[],
): LeaseOptions | undefined {
  const given = Object.entries({ ...options, ttlMs: options.leaseTtlMs }).filter(
    ([name, value]) => Object.hasOwn(LEASE_DEFAULTS, name) && value !== undefined,
  );
  const lease = { ...LEASE_DEFAULTS, ...Object.fromEntries(given) };
  const found = leaseFaults(lease);
  faults.push(...found);
  return found.length === 0 ? lease : undefined;
}

/** Null is not an option left out: it is reported as it was given. */
export function parseEnvironment(options: SnowflakeModuleOptions, faults: string[]) {
  const { lazy = false, application = applicationName() } = options;
  const { clock = systemClock, timers = systemTimers } = options;
  faults.push(
    ...methodFaults('clock', clock, ['now']),
    ...methodFaults('timers', timers, TIMER_METHODS),
    ...typeFaults('application', application, 'string'),
    ...typeFaults('lazy', lazy, 'boolean'),
  );
  return { lazy, application, clock, timers };
}

function parseOrder(
  options: SnowflakeModuleOptions,
  shared: SharedLease | undefined,
  faults: string[],
) {
  const { aheadMsMax = shared?.aheadMsMax, sharesLease = false } = options;
  const { sequenceStart = shared?.sequenceStart ?? 'zero', onWorkerIdChange } = options;
  faults.push(
    ...orderFaults({ aheadMsMax, sequenceStart }),
    ...typeFaults('sharesLease', sharesLease, 'boolean'),
    ...(onWorkerIdChange === undefined
      ? []
      : typeFaults('onWorkerIdChange', onWorkerIdChange, 'function')),
  );
  return { aheadMsMax, sequenceStart, sharesLease, onWorkerIdChange };
}

function endFaults(layout: BitLayout, clock: Clock): string[] {
  const isClock = typeof (clock as Partial<Clock> | null)?.now === 'function';
  if (!isClock || layout.lastDate.getTime() >= clock.now()) return [];
  return [
    `The layout ${layout.fingerprint} ran out on ${layout.lastDate.toISOString()}. Use a ` +
      'later `epoch` in a new id space, or a layout with more timestamp bits.',
  ];
}

/** The options that decide the layout. */
interface LayoutOptions {
  readonly layout?: BitLayout | readonly FieldSpec[];
  readonly epoch?: Epoch;
  readonly aheadMsMax?: number;
  readonly onWorkerIdChange?: unknown;
}

function givenLayout({ layout, epoch }: LayoutOptions): BitLayout {
  if (layout === undefined) return layouts.snowflake({ epoch });
  if (Array.isArray(layout)) return new BitLayout({ epoch, fields: layout as FieldSpec[] });
  if (!isLayout(layout)) {
    throw invalid([`Expected \`layout\` to be a BitLayout or its fields, got ${format(layout)}.`]);
  }
  return epoch === undefined ? layout : layout.withEpoch(epoch);
}

/** A thread that shares a lease uses the layout of that lease; it need not name one. */
function joinLayout(
  options: LayoutOptions,
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
        `holds the lease, got ${format(aheadMsMax)}. Threads that share a lease share their ` +
        `run-ahead; leave it out.`,
    );
  }
  return layout;
}

/*
 * Step two, open, is openSupports() of resolve-support.ts. Step three, cross-check: pure again, the
 * options against the support that they name.
 */

/** @returns undefined if a part is missing, whose fault is reported */
function crossCheck(
  { layout, workerIds: range, lease, others }: ParsedOptions,
  { support, regions }: OpenSupports,
  faults: string[],
): SnowflakeConfig | undefined {
  if (lease !== undefined) faults.push(...relationFaults(lease, roomOf(support, layout)));
  if (support === undefined || range === undefined) return undefined;
  const { workerId, takesOver } = support;
  if (workerId !== undefined) {
    faults.push(...wholeFaults('workerId', workerId, [range.min, range.max]));
  }
  if (layout === undefined || lease === undefined) return undefined;
  const region = regions && { support: regions, ...regionOf(layout, range) };
  if (region !== undefined) faults.push(...regionFaults(region, support));
  const isClaimed = workerId !== undefined && takesOver === true;
  const workerIds = isClaimed ? { min: workerId, max: workerId } : range;
  return { layout, support, workerIds, region, lease, ...others };
}

/** There may be so many regions as these bits count. */
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

/** A support that gives one worker id alone is asked for the number of a region in vain. */
function hasRegistry({ lossWindowMs, isVolatile }: IDistributedSupport): boolean {
  return lossWindowMs !== undefined && isVolatile !== true;
}

/** A support without a loss window has no store: its worker ids are not leased for a time. */
function roomOf(
  support: IDistributedSupport | undefined,
  layout: BitLayout | undefined,
): LeaseRoom {
  const lossWindowMs = support?.lossWindowMs;
  if (lossWindowMs === undefined) return { lossWindowMs: 0, minRangeMs: 0 };
  return { lossWindowMs, minRangeMs: layout === undefined ? 0 : minRangeMsOf(layout.unitMs) };
}

/*
 * The result: the options of a generator, completed.
 */

export interface SnowflakeConfig {
  readonly support: IDistributedSupport;
  readonly lease: LeaseOptions;
  readonly layout: BitLayout;
  readonly workerIds: WorkerIdRange;
  /** The number of this region, and where it is claimed. */
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

/*
 * The default of the option `application`: the name of the package that runs.
 *
 * npm passes it in the environment; under a plain `node dist/main` it is read from the package.json
 * nearest to the entry point. PM2 runs an entry point of its own, in the environment of its daemon,
 * and passes the path of the application. Without one the name is `unnamed`; nothing here throws.
 */

/** @param entryPoint process.argv[1]; absent in a REPL and under `node --eval` */
export function applicationName(
  env: Readonly<Record<string, string | undefined>> = process.env,
  entryPoint: string | undefined = process.argv[1],
): string {
  const { npm_package_name: fromNpm, pm_exec_path: fromPm2 } = env;
  const nearest = nameNear(entryPoint);
  const isUnderPm2 = nearest === 'pm2' && fromPm2 !== undefined;
  return (isUnderPm2 ? nameNear(fromPm2) : fromNpm || nearest) ?? 'unnamed';
}

function nameNear(path: string | undefined): string | undefined {
  for (let at = path; at && dirname(at) !== at; at = dirname(at)) {
    const name = nameIn(join(dirname(at), 'package.json'));
    if (name !== undefined) return name;
  }
  return undefined;
}

/** A build may put a package.json without a name next to its output: then the parent is read. */
function nameIn(path: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown };
    return typeof name === 'string' && name !== '' ? name : undefined;
  } catch {
    return undefined;
  }
}
