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
import { WindowWords } from '../core/window/window-memory.js';
import { joinWindow, shareWindow } from '../core/window/shared-lease.js';
import { LeaseWindow } from '../core/window/lease-window.js';
import type { OpenGenerator } from '../generator.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
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
  /** Logs advice for the operator once, in the background. */
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
    advise: async () => log.warn(...(await generator.advice())),
    close: () => generator.stop(),
  };
}

export function workerEngine(
  config: SnowflakeConfig,
  support: IDistributedSupport,
  name: string | undefined,
): WorkerEngine {
  const { clock, timers, sequenceStart, workerIds, layout, lease } = config;
  const aheadMsMax = config.aheadMsMax ?? (support.isVolatile === true ? 0 : undefined);
  const log = new GeneratorLog(name);
  const identity = systemIdentity(config.application);
  // The injected support may differ from the support in the options.
  const joined = sharedIn(support);
  const memory = config.sharesLease ? WindowWords.shared() : undefined;
  const window =
    joined === undefined ? new LeaseWindow(layout, lease.reserveMs, memory) : joinWindow(joined);
  const idClock = window.anchored(clock);
  const { random } = Math;
  const onNews = (text: string) => log.warn(text);
  const parts = { window, idClock, timers, options: lease, onNews };
  const keeper =
    joined === undefined
      ? new LeaseKeeper({
          ...parts,
          support: closedAfterLastCall(support),
          aheadMsMax: config.aheadMsMax,
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
          random,
          onChange: (change) => log.change(change),
          onWorkerIdChange: (change) => void tell(config.onWorkerIdChange, change, log),
        })
      : new SharedLeaseKeeper(parts);
  const generator = new SnowflakeGenerator(window, { clock: idClock, aheadMsMax, sequenceStart });
  const line = new WaitQueue(generator, timers, window);
  window.onChange = () => line.wake();
  // If a test overrides the support, no region number is claimed.
  const plan = support === config.support ? config.region : undefined;
  const report = log.write.bind(log);
  const region =
    plan && new RegionClaim({ ...plan, lease, timers, identity, keeper, random, report });
  const space = spaceOf(support, config, name);
  const status = () =>
    statusOf(generator, keeper, { space, region: region?.status, statement: support.statement });
  const early = new EarlyCallers(line, { timers, log });
  const idMaker = new IdMaker({
    source: generator,
    status,
    line: early,
    layout,
    shared: shareWindow(window, { aheadMsMax, sequenceStart }),
    // During a move, each layout and each of two stores has only some of the worker IDs.
    get workerIds() {
      const { min: workerIdMin, max: workerIdMax } = workerIds;
      const admitted = admittedSpan(keeper.terms?.layouts ?? '', layout.fingerprint, keeper.nowMs);
      const span = commonSpan({ workerIdMin, workerIdMax }, admitted);
      return span === undefined ? workerIds : { min: span.workerIdMin, max: span.workerIdMax };
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
    leaseTtlMs: lease.ttlMs,
    get location() {
      return locationOf(support);
    },
    advise: async () => {
      log.write('log', `Worker ids come from ${locationOf(support)}.`);
      log.warn(...[layout.warningAt(clock.now()) ?? []].flat());
      const advice: unknown = await support.advice?.();
      if (Array.isArray(advice)) log.warn(...advice.map(String));
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

const locationOf = (support: IDistributedSupport) => support.location ?? support.constructor.name;

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

export class GeneratorLog {
  private readonly logger: Logger;

  constructor(name: string | undefined) {
    this.logger = new Logger(name === undefined ? 'Snowflake' : `Snowflake:${name}`);
  }

  /** A warning if an operator should check something, an error if IDs stop. */
  change({ from, to, workerId, reason }: Omit<LeaseChange, 'workerId'> & Partial<LeaseChange>) {
    const who = workerId === undefined ? '' : `Worker id ${workerId}: `;
    const isOver = to === 'exhausted' || (to === 'unassigned' && from !== 'released');
    const isWell = to === 'active' || to === 'released';
    const level = isOver ? 'error' : isWell ? 'log' : 'warn';
    this.write(level, `${who}${from} -> ${to}. ${reason}`);
  }

  warn(...texts: readonly string[]): void {
    for (const text of texts) this.write('warn', text);
  }

  write(level: 'log' | 'warn' | 'error', text: string): void {
    const line = printable(text);
    try {
      this.logger[level](line);
    } catch {
      process.emitWarning(`${line} (The application's logger threw an error.)`, 'Snowflake');
    }
  }
}
