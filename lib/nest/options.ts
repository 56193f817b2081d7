/**
 * The options of the module and resolveOptions(), which checks and completes them: in one file, so
 * that a new option is described, named and checked in one place.
 *
 * Promise: every fault is reported at start, all of them at once, each with the value given.
 */
import type { SupportFromUrl } from '../backends/schemes.js';
import type { GeneratorKind } from '../generator-kind.js';
import type { BitLayout } from '../core/layout/bit-layout.js';
import { systemClock, type Clock } from '../core/clock.js';
import type { Epoch } from '../core/layout/epoch.js';
import type { FieldSpec } from '../core/layout/layout-fields.js';
import type { SharedLease } from '../core/seat/shared-lease.js';
import { workerIdRangeOf, type WorkerIdRange } from '../core/layout/worker-id-range.js';
import { knownNames } from '../nearest.js';
import { shown } from '../shown.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import type { WorkerIdClaim, WorkerIdSource } from '../lease/claim.support.js';
import { sourceOf } from '../lease/lease-source.js';
import {
  LEASE_DEFAULTS,
  leaseFaults,
  minRangeMsOf,
  renewalFault,
  waitFault,
} from '../lease/lease-options.js';
import type { LeaseOptions, LeaseRoom } from '../lease/lease-options.js';
import { staticWorkerFault } from '../lease/static.support.js';
import { systemTimers, type Timers } from '../patience/timers.js';
import { TIMER_METHODS, methodFaults } from '../option-faults.js';
import { SCHEDULER_FAULT, faultsOf, invalid, noOptions } from './config-faults.js';
import { applicationName } from './application-name.js';
import type { SnowflakeConfig, WorkerConfig } from './config.js';
import { ownSupports } from './own-supports.js';
import { givenSupport } from './given-support.js';
import { generatorSupport, givenGenerator, withGenerator } from './given-generator.js';
import { joinLayout, resolveLayout } from './given-layout.js';

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
    ...surroundingsOf(options),
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
  const surroundings = surroundingsOf(options);
  const given = Object.entries(options)
    .filter(([name, value]) => value !== undefined && KNOWN_NAMES.includes(name))
    .map(([name]) => name);
  faults.push(...unknownNames(options), ...withGenerator(given), ...otherFaults(surroundings));
  const { callTimeoutMs, startTimeoutMs } = lease;
  const terms = { ...surroundings, callTimeoutMs, startTimeoutMs, random: Math.random };
  const generator = await givenGenerator(options.generator, terms, faults);
  const support = generatorSupport(generator);
  return configOrFaults({ kind: 'generator', generator, support, lease, ...surroundings }, faults);
}

/** Null is no option that is left out: it is reported as what was given. */
function orderOf(options: SnowflakeModuleOptions, shared: SharedLease | undefined) {
  const { aheadMsMax = shared?.aheadMsMax, sharesLease = false } = options;
  const { sequenceStart = shared?.sequenceStart ?? 'zero' } = options;
  return { aheadMsMax, sequenceStart, sharesLease };
}

function surroundingsOf(options: SnowflakeModuleOptions) {
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

function otherFaults(surroundings: ReturnType<typeof surroundingsOf>): string[] {
  const { lazy, application, clock, timers } = surroundings;
  const faults = [
    ...methodFaults('clock', clock, ['now']),
    ...methodFaults('timers', timers, TIMER_METHODS),
  ];
  if (typeof application !== 'string') {
    faults.push(`Expected \`application\` to be a string, got ${shown(application)}.`);
  }
  if (typeof lazy !== 'boolean') {
    faults.push(`Expected \`lazy\` to be a boolean, got ${shown(lazy)}.`);
  }
  return faults;
}

function layoutFaults(config: WorkerConfig): string[] {
  const faults: string[] = [];
  const { aheadMsMax = 0, sequenceStart, sharesLease, layout, clock } = config;
  if (!Number.isInteger(aheadMsMax) || aheadMsMax < 0 || aheadMsMax > AHEAD_MS_LIMIT) {
    faults.push(
      `Expected \`aheadMsMax\` to be an integer from 0 to ${AHEAD_MS_LIMIT}, got ` +
        `${shown(aheadMsMax)}.`,
    );
  }
  if (sequenceStart !== 'zero' && sequenceStart !== 'random') {
    faults.push(
      `Expected \`sequenceStart\` to be 'zero' or 'random', got ${shown(sequenceStart)}.`,
    );
  }
  if (typeof sharesLease !== 'boolean') {
    faults.push(`Expected \`sharesLease\` to be a boolean, got ${shown(sharesLease)}.`);
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
