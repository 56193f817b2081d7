/**
 * A generator in a worker thread, on the lease of the thread that started it.
 *
 * It asks no store and holds nothing: the thread that holds the lease renews it and gives it back.
 */
import { systemClock, type Clock } from '../clock.js';
import { isSharedLease, joinSeat, notShared, type SharedLease } from '../seat/shared-lease.js';
import { SnowflakeGenerator } from './snowflake-generator.js';

/**
 * A generator for a worker thread without Nest, on the lease of the thread that started it.
 * @throws SnowflakeError CONFIG_INVALID for anything but `IdMaker.sharedLease`, which cannot be
 * sent to another process.
 * @example
 * ```ts
 * import { workerData } from 'node:worker_threads';
 * import { joinSharedLease, type SharedLease } from 'nestjs-snowflake/core';
 *
 * const ids = joinSharedLease((workerData as { ids: SharedLease }).ids);
 * ids.nextIdString();
 * ```
 */
export function joinSharedLease(
  shared: SharedLease,
  clock: Clock = systemClock,
): SnowflakeGenerator {
  if (!isSharedLease(shared)) throw notShared(shared);
  const seat = joinSeat(shared);
  const { aheadMsMax, sequenceStart } = shared;
  const options = { aheadMsMax, sequenceStart, clock: seat.anchored(clock) };
  return new SnowflakeGenerator(seat, options);
}
