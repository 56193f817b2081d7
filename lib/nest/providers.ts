/**
 * One generator as Nest providers: options -> config -> support -> keeper -> IdMaker -> lifecycle.
 *
 * Promise: replacing the support with overrideProvider replaces all that touches a store.
 */
import { Logger, type InjectionToken, type Provider } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { AnchoredClock } from '../core/clock.js';
import { SeatMemory } from '../core/seat-memory.js';
import { hearThreads, joinSeat, shareSeat } from '../core/shared-lease.js';
import { SnowflakeGenerator } from '../core/snowflake-generator.js';
import { WorkerSeat } from '../core/worker-seat.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { JoinedLease } from '../lease/joined-lease.js';
import { sharedLeaseOf } from '../lease/joined.support.js';
import type { Keeper } from '../lease/keeper.js';
import { systemHolder } from '../lease/holder.js';
import type { LeaseChange } from '../lease/keeper-parts.js';
import { LeaseKeeper } from '../lease/lease-keeper.js';
import { MIN_RANGE_MS } from '../lease/lease-options.js';
import { WaitingLine } from '../lease/waiting-line.js';
import { IdMaker } from './id-maker.js';
import { SnowflakeLifecycle } from './lifecycle.js';
import { resolveOptions, type SnowflakeConfig, type SnowflakeModuleOptions } from './options.js';
import { RefreshAlive } from './refresh-alive.job.js';
import {
  SNOWFLAKE_CONFIG,
  SNOWFLAKE_OPTIONS,
  getDistributedSupportToken,
  getIdMakerToken,
  getRefreshAliveToken,
} from './tokens.js';

/** The parts of a generator that belong together; nobody else sees them. */
interface Engine {
  readonly keeper: Keeper;
  readonly idMaker: IdMaker;
  readonly logger: Logger;
}

/** Optional, so that a missing ScheduleModule is told in our words together with other faults. */
const SCHEDULER = { token: SchedulerRegistry, optional: true };

const ENGINE = Symbol.for('nestjs-snowflake:engine');

export function snowflakeProviders(name: string | undefined): Provider[] {
  const supportToken = getDistributedSupportToken(name);
  const idMakerToken = getIdMakerToken(name);
  const refreshAliveToken = getRefreshAliveToken(name);
  return [
    provide(
      SNOWFLAKE_CONFIG,
      (options: SnowflakeModuleOptions, scheduler?: SchedulerRegistry) =>
        resolveOptions(options, scheduler !== undefined),
      [SNOWFLAKE_OPTIONS, SCHEDULER],
    ),
    provide(supportToken, (config: SnowflakeConfig) => config.support, [SNOWFLAKE_CONFIG]),
    provide(
      ENGINE,
      (config: SnowflakeConfig, support: IDistributedSupport) =>
        createEngine(config, support, name),
      [SNOWFLAKE_CONFIG, supportToken],
    ),
    provide(idMakerToken, (engine: Engine) => engine.idMaker, [ENGINE]),
    provide(
      refreshAliveToken,
      (scheduler: SchedulerRegistry, engine: Engine, config: SnowflakeConfig) =>
        new RefreshAlive(scheduler, engine.keeper, config, name),
      [SCHEDULER, ENGINE, SNOWFLAKE_CONFIG],
    ),
    provide(
      SnowflakeLifecycle,
      (
        engine: Engine,
        config: SnowflakeConfig,
        support: IDistributedSupport,
        ...[refreshAlive, discovery]: [RefreshAlive, DiscoveryService]
      ) => new SnowflakeLifecycle({ ...engine, name, config, support, refreshAlive, discovery }),
      [ENGINE, SNOWFLAKE_CONFIG, supportToken, refreshAliveToken, DiscoveryService],
    ),
  ];
}

function createEngine(
  config: SnowflakeConfig,
  support: IDistributedSupport,
  name: string | undefined,
): Engine {
  const { layout, lease, clock, timers, aheadMsMax, sequenceStart } = config;
  const logger = new Logger(name === undefined ? 'Snowflake' : `Snowflake:${name}`);
  const joined = sharedLeaseOf(support);
  const memory = config.sharesLease ? SeatMemory.shared() : new SeatMemory();
  const seat =
    joined === undefined ? new WorkerSeat(layout, lease.reserveMs, memory) : joinSeat(joined);
  const idClock = new AnchoredClock(clock, seat.memory);
  const { startTimeoutMs } = lease;
  const keeper =
    joined === undefined
      ? createKeeper(config, support, { seat, idClock, logger })
      : new JoinedLease({ seat, clock: idClock, timers, startTimeoutMs });
  const generator = new SnowflakeGenerator(seat, { clock: idClock, aheadMsMax, sequenceStart });
  const shared = shareSeat(seat, { aheadMsMax, sequenceStart });
  const { workerIds } = config;
  const line = new WaitingLine(generator, seat, timers);
  return { keeper, logger, idMaker: new IdMaker({ generator, keeper, line, shared, workerIds }) };
}

interface KeeperSurroundings {
  readonly seat: WorkerSeat;
  readonly idClock: AnchoredClock;
  readonly logger: Logger;
}

function createKeeper(
  config: SnowflakeConfig,
  support: IDistributedSupport,
  { seat, idClock, logger }: KeeperSurroundings,
): LeaseKeeper {
  const { layout, lease, clock, timers, workerIds, application } = config;
  if (config.sharesLease) void hearThreads(seat);
  return new LeaseKeeper({
    support,
    seat,
    options: lease,
    terms: {
      fingerprint: layout.fingerprint,
      ttlMs: lease.ttlMs,
      minRangeMs: MIN_RANGE_MS,
      trustsFreshRegistry: lease.onFreshRegistry === 'trust',
    },
    workerIds,
    holder: systemHolder(application),
    hostClock: clock,
    idClock,
    timers,
    random: Math.random,
    onChange: (change) => logChange(logger, change),
    onNews: (text) => logger.warn(text),
  });
}

/** What an operator has to look at is a warning; ids that stop are an error. */
function logChange(logger: Logger, { from, to, workerId, reason }: LeaseChange): void {
  const who = workerId === undefined ? '' : `Worker id ${workerId}: `;
  const line = `${who}${from} -> ${to}. ${reason}`;
  if (to === 'exhausted' || (to === 'unassigned' && from !== 'released')) logger.error(line);
  else if (to === 'active' || to === 'released') logger.log(line);
  else logger.warn(line);
}

type Dependency = InjectionToken | { readonly token: InjectionToken; readonly optional: boolean };

function provide(
  token: InjectionToken,
  useFactory: (...dependencies: never[]) => unknown,
  inject: Dependency[],
): Provider {
  return { provide: token, useFactory, inject } as Provider;
}
