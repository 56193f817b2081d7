/**
 * One generator put together: config and support -> seat -> keeper -> generator -> IdMaker, or the
 * kind of generator that the option `generator` brought -> IdMaker.
 *
 * Nothing runs yet: generator-run.ts starts and stops it, for the module and for scripts alike.
 * Promise: what is said about a lease never changes it, whatever the application's logger does.
 */
import { monotonicClock } from '../core/clock.js';
import type { AnchoredClock } from '../core/seat/anchored-clock.js';
import { SeatWords } from '../core/seat/seat-words.js';
import { joinSeat, shareSeat } from '../core/seat/shared-lease.js';
import { SnowflakeGenerator } from '../core/generator/snowflake-generator.js';
import { WorkerSeat } from '../core/seat/worker-seat.js';
import type { OpenGenerator } from '../generator-kind.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { systemIdentity, type ProcessIdentity } from '../patience/process-identity.js';
import { JoinedLease } from '../lease/joined-lease.js';
import type { Keeper } from '../lease/keeper.js';
import { LeaseKeeper } from '../lease/lease-keeper.js';
import { minRangeMsOf } from '../lease/lease-options.js';
import { sourceOf, type LeaseSource } from '../lease/lease-source.js';
import { WaitingLine } from '../lease/waiting-line.js';
import { GeneratorLog } from './generator-log.js';
import { statusOf } from './id-maker-status.js';
import { IdMaker } from './id-maker.js';
import type { GeneratorConfig, SnowflakeConfig, WorkerConfig } from './config.js';

/** The parts of a generator that belong together; nobody else sees them. */
export interface Engine {
  /** Who sees to it that there are ids. */
  readonly keeper: Pick<Keeper, 'renewsItself' | 'start' | 'refresh' | 'stop'>;
  readonly idMaker: IdMaker;
  readonly identity: ProcessIdentity;
  readonly log: GeneratorLog;
}

export function createEngine(
  config: SnowflakeConfig,
  support: IDistributedSupport,
  name: string | undefined,
): Engine {
  return config.kind === 'worker'
    ? workerEngine(config, support, name)
    : generatorEngine(config, name);
}

function generatorEngine(config: GeneratorConfig, name: string | undefined): Engine {
  const { generator, timers, application } = config;
  const log = new GeneratorLog(name);
  const waiting = new WaitingLine(generator.source, timers);
  const line = generator.line ?? waiting;
  generator.listen({
    changed: (change) => log.change(change),
    news: (text) => log.warn(text),
    woken: () => waiting.wake(),
  });
  const { source, layout, nature } = generator;
  const idMaker = new IdMaker({ source, line, layout, nature, status: () => generator.status });
  return { keeper: keeperOfKind(generator), idMaker, identity: systemIdentity(application), log };
}

/** It asks its store when it needs to, so no job renews it. */
function keeperOfKind(generator: OpenGenerator): Engine['keeper'] {
  return {
    renewsItself: false,
    start: () => generator.start(),
    refresh: () => generator.refresh(),
    stop: () => generator.stop(),
  };
}

function workerEngine(
  config: WorkerConfig,
  support: IDistributedSupport,
  name: string | undefined,
): Engine {
  const { clock, timers, sequenceStart, workerIds, layout } = config;
  // The injected one, which may be another than that of the options.
  const source = sourceOf(support);
  const aheadMsMax = config.aheadMsMax ?? (support.isVolatile === true ? 0 : undefined);
  const log = new GeneratorLog(name);
  const identity = systemIdentity(config.application);
  const seat = seatOf(source, config);
  const idClock = seat.anchored(clock);
  const keeper = keeperOf(source, config, { seat, idClock, identity, log });
  const generator = new SnowflakeGenerator(seat, { clock: idClock, aheadMsMax, sequenceStart });
  const shared = shareSeat(seat, { aheadMsMax, sequenceStart });
  const line = new WaitingLine(generator, timers, () => changeElsewhere(seat));
  seat.onChange = () => line.wake();
  const status = () => statusOf(generator, keeper);
  const idMaker = new IdMaker({ source: generator, status, line, layout, shared, workerIds });
  return { keeper, idMaker, identity, log };
}

function changeElsewhere({ sharedMemory, signals }: WorkerSeat): Promise<void> | undefined {
  return sharedMemory === undefined ? undefined : signals.untilChange(signals.changeCount);
}

function seatOf(source: LeaseSource, { layout, lease, sharesLease }: WorkerConfig): WorkerSeat {
  if (source.kind === 'joined') return joinSeat(source.shared);
  return new WorkerSeat(layout, lease.reserveMs, sharesLease ? SeatWords.shared() : undefined);
}

interface KeeperContext {
  readonly seat: WorkerSeat;
  readonly idClock: AnchoredClock;
  readonly identity: ProcessIdentity;
  readonly log: GeneratorLog;
}

function keeperOf(source: LeaseSource, config: WorkerConfig, context: KeeperContext): Keeper {
  const { layout, lease, clock, timers, workerIds, aheadMsMax } = config;
  const { seat, idClock, identity, log } = context;
  if (source.kind === 'joined') {
    return new JoinedLease({ seat, clock: idClock, timers, startTimeoutMs: lease.startTimeoutMs });
  }
  return new LeaseKeeper({
    support: source.support,
    seat,
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
  });
}
