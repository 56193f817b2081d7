/**
 * Builds a generator: config and support -> lease window -> keeper -> generator -> IdMaker. Without
 * a worker ID: generator -> IdMaker.
 *
 * Nothing runs yet: generator-run.ts starts and stops it, for the module and for scripts alike.
 * Guarantee: a log line never changes a lease, even if the application's logger throws.
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

/** The parts of one generator; only this engine uses them. */
export interface Engine {
  /** Keeps IDs available. */
  readonly keeper: Pick<Keeper, 'start' | 'refresh' | 'stop'>;
  readonly idMaker: IdMaker;
  readonly early: EarlyCallers;
  readonly identity: ProcessIdentity;
  readonly log: GeneratorLog;
  /** The claim of the region's number, if `regions` is set. */
  readonly region?: RegionClaim | undefined;
  /** True if the application starts before IDs are available. */
  readonly lazy: boolean;
  /** The source of its IDs or worker IDs, in words for the operator. */
  readonly location: string;
  /** The length of a lease; absent without a worker ID. */
  readonly leaseTtlMs?: number | undefined;
  /** Logs advice for the operator. */
  advise(): Promise<void>;
  /** Closes the connections of an engine that never started. */
  close(): Promise<void>;
}

/** An engine with a lease that needs renewals. */
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
  // The injected support may differ from the support in the options.
  const window = windowOf(support, config);
  const idClock = window.anchored(clock);
  const keeper = keeperOf(support, config, { window, idClock, identity, log });
  const generator = new SnowflakeGenerator(window, { clock: idClock, aheadMsMax, sequenceStart });
  const shared = shareWindow(window, { aheadMsMax, sequenceStart });
  const line = new WaitQueue(generator, timers, () => changeElsewhere(window));
  window.onChange = () => line.wake();
  // If a test overrides the support, no region number is claimed.
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
 * The name of the ID space. Many applications may use the default namespace, so the application's
 * name replaces it. Fixed worker fields, such as a region, may mean separate registries.
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

/** During a move, each layout and each of two stores has only some of the worker IDs. */
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

/** An error of the application's function affects no ID and no lease. */
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
 * Guarantee: an entry is one line without control characters, even if the store or the
 * configuration contains them. If a logger throws, the line becomes a warning of Node instead.
 */

/** A change of state, with or without a lease. */
type Change = Omit<LeaseChange, 'workerId'> & Partial<LeaseChange>;

type Level = 'log' | 'warn' | 'error';

export class GeneratorLog {
  private readonly logger: Logger;

  constructor(name: string | undefined) {
    this.logger = new Logger(name === undefined ? 'Snowflake' : `Snowflake:${name}`);
  }

  /** A warning if an operator should check something, an error if IDs stop. */
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
