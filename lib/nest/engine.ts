/**
 * One generator put together: config and support -> lease window -> keeper -> generator -> IdMaker,
 * or a generator that needs no worker ID -> IdMaker.
 *
 * Nothing runs yet: generator-run.ts starts and stops it, for the module and for scripts alike.
 * Guarantee: a line of log about a lease never changes it, whatever the application's logger does.
 */
import { Logger } from '@nestjs/common';
import { monotonicClock } from '../core/clock.js';
import { SnowflakeGenerator } from '../core/generator/snowflake-generator.js';
import { WindowWords, type AnchoredClock } from '../core/window/window-memory.js';
import { joinWindow, shareWindow } from '../core/window/shared-lease.js';
import { LeaseWindow } from '../core/window/lease-window.js';
import type { WorkerIdRange } from '../core/layout/worker-id-range.js';
import type { OpenGenerator } from '../generator.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import type { LeaseState } from '../lease/held-lease.js';
import type { Keeper, LeaseChange, WorkerIdChange } from '../lease/keeper.js';
import { LeaseKeeper } from '../lease/lease-keeper.js';
import { minRangeMsOf } from '../lease/lease-options.js';
import { RegionClaim } from '../lease/region-claim.js';
import { SharedLeaseKeeper, sharedIn } from '../lease/shared.support.js';
import { WaitQueue } from '../lease/wait-queue.js';
import { errorText, printable } from '../messages.js';
import { closedAfterLastCall } from '../time/call-record.js';
import { systemIdentity, type ProcessIdentity } from '../time/process-identity.js';
import { EarlyCallers } from './early-callers.js';
import { IdMaker, statusOf } from './id-maker.js';
import { admittedSpan, commonSpan } from '../registry/layout-move.js';
import type { SnowflakeConfig } from './resolve-options.js';

/** The parts of a generator that belong together; nobody else sees them. */
export interface Engine {
  /** The keeper sees to it that there are IDs. */
  readonly keeper: Pick<Keeper, 'start' | 'refresh' | 'stop'>;
  readonly idMaker: IdMaker;
  readonly early: EarlyCallers;
  readonly identity: ProcessIdentity;
  readonly log: GeneratorLog;
  /** The number of the region, if it is claimed. */
  readonly region?: RegionClaim | undefined;
  /** True if the application starts before there are IDs. */
  readonly lazy: boolean;
  /** The place where its IDs or worker IDs come from, in words for the operator. */
  readonly location: string;
  /** The length of a lease; absent without a worker ID. */
  readonly leaseTtlMs?: number | undefined;
  /** Logs what the operator should know. */
  advise(): Promise<void>;
  /** Closes the connections of an engine that never started. */
  close(): Promise<void>;
}

/** An engine whose lease has to be renewed. */
export interface WorkerEngine extends Engine {
  readonly keeper: Keeper;
}

export function generatorEngine(
  generator: OpenGenerator,
  { timers, application, lazy }: Pick<SnowflakeConfig, 'timers' | 'application' | 'lazy'>,
  name: string | undefined,
): Engine {
  const log = new GeneratorLog(name);
  const waiting = new WaitQueue(generator.source, timers);
  const early = new EarlyCallers(generator.line ?? waiting, { timers, log });
  generator.listen({
    changed: (change) => log.change(change),
    news: (text) => log.warn(text),
    woken: () => waiting.wake(),
  });
  const { source, layout, location } = generator;
  const status = () => generator.status;
  return {
    keeper: generator,
    idMaker: new IdMaker({ source, line: early, layout, status }),
    early,
    identity: systemIdentity(application),
    log,
    lazy,
    location,
    advise: async () => log.warnOf(await generator.advice()),
    close: () => generator.stop(),
  };
}

export function workerEngine(
  config: SnowflakeConfig,
  support: IDistributedSupport,
  name: string | undefined,
): WorkerEngine {
  const { clock, timers, sequenceStart, workerIds, layout } = config;
  const aheadMsMax = config.aheadMsMax ?? (support.isVolatile === true ? 0 : undefined);
  const log = new GeneratorLog(name);
  const identity = systemIdentity(config.application);
  // The injected support may be another than that of the options.
  const window = windowOf(support, config);
  const idClock = window.anchored(clock);
  const keeper = keeperOf(support, config, { window, idClock, identity, log });
  const generator = new SnowflakeGenerator(window, { clock: idClock, aheadMsMax, sequenceStart });
  const shared = shareWindow(window, { aheadMsMax, sequenceStart });
  const line = new WaitQueue(generator, timers, () => changeElsewhere(window));
  window.onChange = () => line.wake();
  // With a support overridden, as in a test, no number of a region is claimed.
  const region =
    support === config.support ? regionOf(config, { keeper, identity, log }) : undefined;
  const space = spaceOf(support, config, name);
  const status = () =>
    statusOf(generator, keeper, { space, region: region?.status, statement: support.statement });
  const early = new EarlyCallers(line, { timers, log });
  const idMaker = new IdMaker({
    source: generator,
    status,
    line: early,
    layout,
    shared,
    get workerIds() {
      return leasable(workerIds, layout.fingerprint, keeper);
    },
  });
  return {
    keeper,
    idMaker,
    early,
    identity,
    log,
    region,
    lazy: config.lazy,
    leaseTtlMs: config.lease.ttlMs,
    get location() {
      return locationOf(support);
    },
    advise: async () => {
      log.say(`Worker ids come from ${locationOf(support)}.`);
      log.warnOf([layout.warningAt(clock.now()) ?? []].flat());
      const advice: unknown = await support.advice?.();
      if (Array.isArray(advice)) log.warnOf(advice.map(String));
    },
    close: async () => support.close?.(),
  };
}

/**
 * The ID space, by name: a namespace that nobody chose may be that of many. Where fixed worker
 * fields keep processes apart, as those of regions, each may have a registry of its own.
 */
function spaceOf(
  { namespace = 'default', takesOver = false }: IDistributedSupport,
  { application, workerIds: { min, max }, layout }: SnowflakeConfig,
  name: string | undefined,
): string {
  const isAll = takesOver || (min === 0 && max >= layout.workerIdMax);
  const own = name === undefined ? application : `${application}/${name}`;
  return `${namespace === 'default' ? own : namespace}${isAll ? '' : `[${min}-${max}]`}`;
}

/** During a move each layout, and each of two stores, has only some of the worker IDs. */
function leasable(
  { min, max }: WorkerIdRange,
  fingerprint: string,
  { terms, nowMs }: Keeper,
): WorkerIdRange {
  const admitted = admittedSpan(terms?.layouts ?? '', fingerprint, nowMs);
  const span = commonSpan({ workerIdMin: min, workerIdMax: max }, admitted);
  return span === undefined ? { min, max } : { min: span.workerIdMin, max: span.workerIdMax };
}

const locationOf = (support: IDistributedSupport) => support.location ?? support.constructor.name;

function regionOf(
  { region, lease, timers }: SnowflakeConfig,
  { keeper, identity, log }: Pick<WorkerEngine, 'keeper' | 'identity' | 'log'>,
): RegionClaim | undefined {
  if (region === undefined) return undefined;
  const incarnation = () => keeper.incarnation;
  const report = log.write.bind(log);
  const parts = { ...region, lease, timers, identity, incarnation, range: () => keeper, report };
  return new RegionClaim({ ...parts, random: Math.random });
}

function changeElsewhere({ sharedMemory, signals }: LeaseWindow): Promise<void> | undefined {
  return sharedMemory === undefined ? undefined : signals.untilChange(signals.changeCount);
}

function windowOf(
  support: IDistributedSupport,
  { layout, lease, sharesLease }: SnowflakeConfig,
): LeaseWindow {
  const shared = sharedIn(support);
  if (shared !== undefined) return joinWindow(shared);
  return new LeaseWindow(layout, lease.reserveMs, sharesLease ? WindowWords.shared() : undefined);
}

interface KeeperContext {
  readonly window: LeaseWindow;
  readonly idClock: AnchoredClock;
  readonly identity: ProcessIdentity;
  readonly log: GeneratorLog;
}

function keeperOf(
  support: IDistributedSupport,
  config: SnowflakeConfig,
  context: KeeperContext,
): Keeper {
  const { layout, lease, clock, timers, workerIds, aheadMsMax, onWorkerIdChange } = config;
  const { window, idClock, identity, log } = context;
  if (sharedIn(support) !== undefined) {
    const { startTimeoutMs } = lease;
    const onNews = log.warn.bind(log);
    return new SharedLeaseKeeper({ window, clock: idClock, timers, startTimeoutMs, onNews });
  }
  return new LeaseKeeper({
    support: closedAfterLastCall(support),
    window,
    options: lease,
    aheadMsMax,
    terms: {
      fingerprint: layout.fingerprint,
      ttlMs: lease.ttlMs,
      minRangeMs: minRangeMsOf(layout.unitMs),
      quarantineMs: 0,
    },
    workerIds,
    identity,
    hostClock: clock,
    monotonicClock,
    idClock,
    timers,
    random: Math.random,
    onChange: (change) => log.change(change),
    onNews: (text) => log.warn(text),
    onWorkerIdChange: (change) => void tell(onWorkerIdChange, change, log),
  });
}

/** The application's own function costs no ID and no lease, whatever it does. */
async function tell(
  listener: SnowflakeConfig['onWorkerIdChange'],
  change: WorkerIdChange,
  log: GeneratorLog,
): Promise<void> {
  try {
    await listener?.(change);
  } catch (error) {
    log.warn(`The function \`onWorkerIdChange\` failed: ${errorText(error)}`);
  }
}

/*
 * A generator writes to the application's logger: one line for each change of its lease.
 *
 * Guarantee: a line is one line and steers no terminal, whatever the store or a configuration put
 * into it. A logger that throws does no harm: the line becomes a warning of Node instead.
 */

/** One change of state, of a lease or of a generator without one. */
type Change = Omit<LeaseChange, 'workerId'> & Partial<LeaseChange>;

type Level = 'log' | 'warn' | 'error';

export class GeneratorLog {
  private readonly logger: Logger;

  constructor(name: string | undefined) {
    this.logger = new Logger(name === undefined ? 'Snowflake' : `Snowflake:${name}`);
  }

  /** A warning where an operator should check something, an error where IDs stop. */
  change({ from, to, workerId, reason }: Change): void {
    const who = workerId === undefined ? '' : `Worker id ${workerId}: `;
    this.write(levelOf(from, to), `${who}${from} -> ${to}. ${reason}`);
  }

  say(text: string): void {
    this.write('log', text);
  }

  warn(text: string): void {
    this.write('warn', text);
  }

  warnOf(texts: readonly string[]): void {
    for (const text of texts) this.warn(text);
  }

  write(level: Level, text: string): void {
    const line = printable(text);
    try {
      this.logger[level](line);
    } catch {
      process.emitWarning(`${line} (The application's logger threw an error.)`, 'Snowflake');
    }
  }
}

function levelOf(from: LeaseState, to: LeaseState): Level {
  if (to === 'exhausted' || (to === 'unassigned' && from !== 'released')) return 'error';
  return to === 'active' || to === 'released' ? 'log' : 'warn';
}
