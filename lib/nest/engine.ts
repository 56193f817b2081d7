/**
 * One generator put together: config and support -> seat -> keeper -> generator -> IdMaker.
 *
 * Nothing runs yet: generator-run.ts starts and stops it, for the module and for scripts alike.
 * Promise: what is said about a lease never changes it, whatever the application's logger does.
 */
import { AnchoredClock } from '../core/seat/anchored-clock.js';
import { SeatMemory } from '../core/seat/seat-memory.js';
import { hearThreads, joinSeat, shareSeat } from '../core/seat/shared-lease.js';
import { SnowflakeGenerator } from '../core/generator/snowflake-generator.js';
import { WorkerSeat } from '../core/seat/worker-seat.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { systemHolder, type Holder } from '../patience/process-identity.js';
import { JoinedLease } from '../lease/joined-lease.js';
import { sharedLeaseOf } from '../lease/joined.support.js';
import type { Keeper } from '../lease/keeper.js';
import { LeaseKeeper } from '../lease/lease-keeper.js';
import { minRangeMsOf } from '../lease/lease-options.js';
import { WaitingLine } from '../lease/waiting-line.js';
import { GeneratorLog } from './generator-log.js';
import { IdMaker } from './id-maker.js';
import type { SnowflakeConfig } from './options.js';

/** The parts of a generator that belong together; nobody else sees them. */
export interface Engine {
  readonly keeper: Keeper;
  readonly idMaker: IdMaker;
  readonly holder: Holder;
  readonly log: GeneratorLog;
}

export function createEngine(
  config: SnowflakeConfig,
  support: IDistributedSupport,
  name: string | undefined,
): Engine {
  const { layout, lease, clock, timers, sequenceStart } = config;
  const aheadMsMax = config.aheadMsMax ?? (support.isVolatile === true ? 0 : undefined);
  const log = new GeneratorLog(name);
  const holder = systemHolder(config.application);
  const joined = sharedLeaseOf(support);
  const memory = config.sharesLease ? SeatMemory.shared() : new SeatMemory();
  const seat =
    joined === undefined ? new WorkerSeat(layout, lease.reserveMs, memory) : joinSeat(joined);
  const idClock = new AnchoredClock(clock, seat.memory);
  const { startTimeoutMs } = lease;
  const keeper =
    joined === undefined
      ? createKeeper(config, support, { seat, idClock, holder, log })
      : new JoinedLease({ seat, clock: idClock, timers, startTimeoutMs });
  const generator = new SnowflakeGenerator(seat, { clock: idClock, aheadMsMax, sequenceStart });
  const shared = shareSeat(seat, { aheadMsMax, sequenceStart });
  const { workerIds } = config;
  const line = new WaitingLine(generator, seat, timers);
  const idMaker = new IdMaker({ generator, keeper, line, shared, workerIds });
  return { keeper, idMaker, holder, log };
}

interface KeeperSurroundings {
  readonly seat: WorkerSeat;
  readonly idClock: AnchoredClock;
  readonly holder: Holder;
  readonly log: GeneratorLog;
}

function createKeeper(
  config: SnowflakeConfig,
  support: IDistributedSupport,
  { seat, idClock, holder, log }: KeeperSurroundings,
): LeaseKeeper {
  const { layout, lease, clock, timers, workerIds, aheadMsMax } = config;
  if (config.sharesLease) void hearThreads(seat);
  return new LeaseKeeper({
    support,
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
    holder,
    hostClock: clock,
    idClock,
    timers,
    random: Math.random,
    onChange: (change) => log.change(change),
    onNews: (text) => log.warn(text),
  });
}
