/**
 * The options of the module and resolveOptions(), which checks and completes them: in one file, so
 * that a new option is described, named and checked in one place.
 *
 * Guarantee: every fault is reported at start, all of them at once, each with the value given.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { systemClock, type Clock } from '../core/clock.js';
import { BitLayout } from '../core/layout/bit-layout.js';
import type { Epoch } from '../core/layout/epoch.js';
import type { FieldSpec } from '../core/layout/layout-fields.js';
import { layouts } from '../core/layout/presets.js';
import { workerIdRangeOf, type WorkerIdRange } from '../core/layout/worker-id-range.js';
import { sharedLayout, type SharedLease } from '../core/window/shared-lease.js';
import type { GeneratorKind, OpenGenerator } from '../generator.js';
import type { WorkerIdClaim, WorkerIdSource } from '../lease/claim.support.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import type { WorkerIdChange } from '../lease/keeper.js';
import {
  LEASE_DEFAULTS,
  leaseFaults,
  minRangeMsOf,
  renewalFault,
  waitFault,
  type LeaseOptions,
  type LeaseRoom,
} from '../lease/lease-options.js';
import { sourceOf } from '../lease/shared.support.js';
import { staticWorkerFault } from '../lease/static.support.js';
import { format } from '../messages.js';
import { knownNames, methodFaults, TIMER_METHODS } from '../options.js';
import type { SupportFromUrl } from '../stores/schemes.js';
import { systemTimers, type Timers } from '../time/timers.js';
import {
  collect,
  faultsOf,
  generatorSupport,
  givenGenerator,
  givenSupport,
  invalid,
  noOptions,
  ownSupports,
  SCHEDULER_FAULT,
  withGenerator,
} from './resolve-support.js';

/** Those of the lease that have the same name here; undefined is the default. */
type GivenLeaseOptions = {
  readonly [name in keyof Omit<LeaseOptions, 'ttlMs'>]?: LeaseOptions[name] | undefined;
};

/** Options of SnowflakeModule. All have a default but where the worker id comes from. */
export interface SnowflakeModuleOptions extends GivenLeaseOptions {
  /**
   * Where the worker id comes from: a URL ('static:7', 'redis://...'), a support, or what
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
  /**
   * Ids without a worker id, instead of `support` and `workerId`: `segments({...})` or its URL,
   * 'segments+postgres://app@db/shop?counter=order'.
   */
  readonly generator?: GeneratorKind | string | undefined;
  /** A layout, or its fields, the most significant first. Default layouts.snowflake(). */
  readonly layout?: BitLayout | readonly FieldSpec[] | undefined;
  /** When the time in ids starts. Default that of the layout, 2024-01-01T00:00:00Z. */
  readonly epoch?: Epoch | undefined;
  /** Worker fields with a fixed value, e.g. { datacenter: 3 }; the others are leased. */
  readonly workerFields?: Readonly<Record<string, number>> | undefined;
  /** How far ahead of the store's clock a lease reaches. 10 s to 10 min, default 60 s. */
  readonly leaseTtlMs?: number | undefined;
  /**
   * How far ids may run ahead of the clock once a tick's sequence is used up. Default 1000, or 0
   * for a lease without end, such as a static worker id.
   */
  readonly aheadMsMax?: number | undefined;
  /** Where each tick's sequence starts: 'zero', or 'random' so that `id % n` is even. */
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
  /** What operators see next to host and pid. Default: the name in package.json. */
  readonly application?: string | undefined;
  /** Reads the time; for tests. */
  readonly clock?: Clock | undefined;
  /** Sets timers; for tests. */
  readonly timers?: Timers | undefined;
}

const AHEAD_MS_LIMIT = 3_600_000;
/** Takes the place of a support with a fault, so that the other options are checked too. */
const UNKNOWN_SUPPORT = {} as unknown as IDistributedSupport;

/** All options but those of the lease; the compiler keeps the list complete. */
const OWN_NAMES: Record<Exclude<keyof SnowflakeModuleOptions, keyof LeaseOptions>, true> = {
  support: true,
  supports: true,
  workerId: true,
  generator: true,
  layout: true,
  epoch: true,
  workerFields: true,
  leaseTtlMs: true,
  aheadMsMax: true,
  sequenceStart: true,
  sharesLease: true,
  lazy: true,
  onWorkerIdChange: true,
  application: true,
  clock: true,
  timers: true,
};

const KNOWN_NAMES = [...Object.keys(OWN_NAMES), ...Object.keys(LEASE_DEFAULTS)]
  .filter((name) => name !== 'ttlMs')
  .toSorted();

/**
 * @param found faults elsewhere in the application, reported together with those of the options
 * @throws SnowflakeError CONFIG_INVALID with every fault in `details.faults`.
 */
export async function resolveOptions(
  options: SnowflakeModuleOptions,
  hasScheduler: boolean,
  found: readonly string[] = [],
): Promise<SnowflakeConfig> {
  const faults: string[] = [...(hasScheduler ? [] : [SCHEDULER_FAULT]), ...found];
  if (typeof options !== 'object' || options === null)
    throw invalid([...faults, noOptions(options)]);
  if (options.generator !== undefined) return resolveGenerator(options, [...found]);
  const ownLayout = resolveLayout(options, faults);
  const support = await resolveSupport(options, faults);
  const source = sourceOf(support);
  const shared = source.kind === 'joined' ? source.shared : undefined;
  const layout = shared === undefined ? ownLayout : joinLayout(options, shared, ownLayout, faults);
  const lease = resolveLease(options, roomOf(support, layout), faults);
  const workerIds = resolveWorkerIds(options, layout, support, faults);
  const config: WorkerConfig = {
    kind: 'worker',
    layout,
    support,
    workerIds,
    lease,
    ...orderOf(options, shared),
    ...environmentOf(options),
  };
  faults.push(...unknownNames(options), ...otherFaults(config), ...layoutFaults(config));
  return configOrFaults(config, faults);
}

/** No job renews such a generator, so it does not need ScheduleModule. */
async function resolveGenerator(
  options: SnowflakeModuleOptions,
  faults: string[],
): Promise<SnowflakeConfig> {
  const lease = resolveLease(options, { lossWindowMs: 0, minRangeMs: 0 }, faults);
  const environment = environmentOf(options);
  const given = Object.entries(options)
    .filter(([name, value]) => value !== undefined && KNOWN_NAMES.includes(name))
    .map(([name]) => name);
  faults.push(...unknownNames(options), ...withGenerator(given), ...otherFaults(environment));
  const { callTimeoutMs, startTimeoutMs } = lease;
  const terms = { ...environment, callTimeoutMs, startTimeoutMs, random: Math.random };
  const generator = await givenGenerator(options.generator, terms, faults);
  const support = generatorSupport(generator);
  return configOrFaults({ kind: 'generator', generator, support, lease, ...environment }, faults);
}

/** Null is no option that is left out: it is reported as what was given. */
function orderOf(options: SnowflakeModuleOptions, shared: SharedLease | undefined) {
  const { aheadMsMax = shared?.aheadMsMax, sharesLease = false } = options;
  const { sequenceStart = shared?.sequenceStart ?? 'zero', onWorkerIdChange } = options;
  return { aheadMsMax, sequenceStart, sharesLease, onWorkerIdChange };
}

function environmentOf(options: SnowflakeModuleOptions) {
  const { lazy = false, application = applicationName() } = options;
  const { clock = systemClock, timers = systemTimers } = options;
  return { lazy, application, clock, timers };
}

async function configOrFaults<C extends SnowflakeConfig>(config: C, faults: string[]): Promise<C> {
  if (faults.length === 0) return config;
  const close = async () => config.support.close?.();
  // A support of the application's own scheme may be open; an error on closing would hide ours.
  await close().catch(() => undefined);
  throw invalid(faults);
}

async function resolveSupport(
  options: SnowflakeModuleOptions,
  faults: string[],
): Promise<IDistributedSupport> {
  const own = ownSupports(options.supports, faults);
  try {
    return await givenSupport(options, own);
  } catch (error) {
    faults.push(...faultsOf(error));
    return UNKNOWN_SUPPORT;
  }
}

/** A support without a loss window has no store: its worker ids are not leased for a time. */
function roomOf({ lossWindowMs }: IDistributedSupport, { unitMs }: BitLayout): LeaseRoom {
  if (lossWindowMs === undefined) return { lossWindowMs: 0, minRangeMs: 0 };
  return { lossWindowMs, minRangeMs: minRangeMsOf(unitMs) };
}

function resolveLease(
  options: SnowflakeModuleOptions,
  room: LeaseRoom,
  faults: string[],
): LeaseOptions {
  const given = Object.entries({ ...options, ttlMs: options.leaseTtlMs }).filter(
    ([name, value]) => Object.hasOwn(LEASE_DEFAULTS, name) && value !== undefined,
  );
  const lease = { ...LEASE_DEFAULTS, ...Object.fromEntries(given) };
  const found = leaseFaults(lease);
  if (found.length === 0) {
    const relations = [renewalFault(lease, room), waitFault(lease, room.lossWindowMs)];
    found.push(...relations.filter((fault) => fault !== undefined));
  }
  faults.push(...found);
  return lease;
}

function resolveWorkerIds(
  options: SnowflakeModuleOptions,
  layout: BitLayout,
  support: IDistributedSupport,
  faults: string[],
): WorkerIdRange {
  const range = workerIdRangeOf(layout, options.workerFields);
  if ('faults' in range) {
    faults.push(...range.faults);
    return { min: 0, max: 0 };
  }
  const { workerId, takesOver } = support;
  if (workerId !== undefined) {
    const fault = staticWorkerFault(workerId, range.min, range.max);
    if (fault !== undefined) faults.push(fault);
    if (takesOver === true) return { min: workerId, max: workerId };
  }
  return range;
}

function unknownNames(options: SnowflakeModuleOptions): string[] {
  return Object.keys(options)
    .filter((name) => !KNOWN_NAMES.includes(name))
    .map((name) => `The option \`${name}\` is unknown. ${knownNames(name, KNOWN_NAMES)}`);
}

function otherFaults(environment: ReturnType<typeof environmentOf>): string[] {
  const { lazy, application, clock, timers } = environment;
  const faults = [
    ...methodFaults('clock', clock, ['now']),
    ...methodFaults('timers', timers, TIMER_METHODS),
  ];
  if (typeof application !== 'string') {
    faults.push(`Expected \`application\` to be a string, got ${format(application)}.`);
  }
  if (typeof lazy !== 'boolean') {
    faults.push(`Expected \`lazy\` to be a boolean, got ${format(lazy)}.`);
  }
  return faults;
}

function layoutFaults(config: WorkerConfig): string[] {
  const faults: string[] = [];
  const { aheadMsMax = 0, sequenceStart, sharesLease, layout, clock } = config;
  const { onWorkerIdChange } = config;
  if (!Number.isInteger(aheadMsMax) || aheadMsMax < 0 || aheadMsMax > AHEAD_MS_LIMIT) {
    faults.push(
      `Expected \`aheadMsMax\` to be an integer from 0 to ${AHEAD_MS_LIMIT}, got ` +
        `${format(aheadMsMax)}.`,
    );
  }
  if (sequenceStart !== 'zero' && sequenceStart !== 'random') {
    faults.push(
      `Expected \`sequenceStart\` to be 'zero' or 'random', got ${format(sequenceStart)}.`,
    );
  }
  if (typeof sharesLease !== 'boolean') {
    faults.push(`Expected \`sharesLease\` to be a boolean, got ${format(sharesLease)}.`);
  }
  if (onWorkerIdChange !== undefined && typeof onWorkerIdChange !== 'function') {
    faults.push(`Expected \`onWorkerIdChange\` to be a function, got ${format(onWorkerIdChange)}.`);
  }
  const isClock = methodFaults('clock', clock, ['now']).length === 0;
  if (isClock && layout.lastDate.getTime() < clock.now()) {
    faults.push(
      `The layout ${layout.fingerprint} ran out on ${layout.lastDate.toISOString()}. Use a ` +
        'later `epoch` in a new id space, or a layout with more timestamp bits.',
    );
  }
  return faults;
}

/*
 * The options of a generator, checked and completed: of one with a worker id, or of a kind that the
 * option `generator` brought.
 */

interface CommonConfig {
  /** Where there is no worker id, one that has none to give. */
  readonly support: IDistributedSupport;
  readonly lease: LeaseOptions;
  readonly lazy: boolean;
  readonly application: string;
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface WorkerConfig extends CommonConfig {
  readonly kind: 'worker';
  readonly layout: BitLayout;
  readonly workerIds: WorkerIdRange;
  /** Undefined where the lease decides: see aheadMsMaxOf in core. */
  readonly aheadMsMax: number | undefined;
  readonly sequenceStart: 'zero' | 'random';
  readonly sharesLease: boolean;
  readonly onWorkerIdChange: SnowflakeModuleOptions['onWorkerIdChange'];
}

export interface GeneratorConfig extends CommonConfig {
  readonly kind: 'generator';
  readonly generator: OpenGenerator;
}

export type SnowflakeConfig = WorkerConfig | GeneratorConfig;

/*
 * From the options `layout` and `epoch` to the layout itself, also in a thread that shares a lease:
 * that one's is the layout of the lease.
 */

/** Those of the options that decide it. */
interface LayoutOptions {
  readonly layout?: BitLayout | readonly FieldSpec[];
  readonly epoch?: Epoch;
  readonly aheadMsMax?: number;
  readonly onWorkerIdChange?: unknown;
}

function resolveLayout(options: LayoutOptions, faults: string[]): BitLayout {
  const { layout, epoch } = options;
  return collect(faults, layouts.snowflake(), () => {
    if (layout === undefined) return layouts.snowflake({ epoch });
    if (Array.isArray(layout)) return new BitLayout({ epoch, fields: layout as FieldSpec[] });
    if (!isLayout(layout)) {
      throw invalid([
        `Expected \`layout\` to be a BitLayout or its fields, got ${format(layout)}.`,
      ]);
    }
    return epoch === undefined ? layout : layout.withEpoch(epoch);
  });
}

/** By its face, since it may come from a second copy of this package. */
function isLayout(value: unknown): value is BitLayout {
  const candidate = value as Partial<BitLayout> | null;
  return typeof candidate?.fingerprint === 'string' && typeof candidate.withEpoch === 'function';
}

/** A thread that shares a lease uses the layout of that lease; it need not name one. */
function joinLayout(
  options: LayoutOptions,
  shared: SharedLease,
  ownLayout: BitLayout,
  faults: string[],
): BitLayout {
  const layout = sharedLayout(shared);
  const isNamed = options.layout !== undefined || options.epoch !== undefined;
  if (isNamed && ownLayout.fingerprint !== layout.fingerprint) {
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
 * The default of the option `application`: the name of the package that runs.
 *
 * npm passes it in the environment; under a plain `node dist/main` it is read from the package.json
 * nearest to the entry point. Without one the name is `unnamed`; nothing here throws.
 */

/** @param entryPoint process.argv[1]; absent in a REPL and under `node --eval` */
export function applicationName(
  env: Readonly<Record<string, string | undefined>> = process.env,
  entryPoint: string | undefined = process.argv[1],
): string {
  const fromNpm = env['npm_package_name'];
  if (fromNpm) return fromNpm;
  for (const folder of foldersAbove(entryPoint)) {
    const name = nameIn(join(folder, 'package.json'));
    if (name !== undefined) return name;
  }
  return 'unnamed';
}

/** The folder of a file and those that it lies in, up to the root; none of no file. */
export function foldersAbove(file: string | undefined): string[] {
  const folders: string[] = [];
  for (let at = file; at && dirname(at) !== at; at = dirname(at)) folders.push(dirname(at));
  return folders;
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
