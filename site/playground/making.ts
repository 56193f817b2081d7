/**
 * Ids made here, by the generator that makes them in a service.
 */
import { SnowflakeGenerator, WorkerSeat, type BitLayout } from 'nestjs-snowflake/core';

/** @returns a function that makes so many ids, all different */
export function makerOf(layout: BitLayout, workerId: number): (count: number) => bigint[] {
  const seat = new WorkerSeat(layout);
  seat.grant({ workerId, floorMs: -Infinity, ceilingMs: Infinity });
  const generator = new SnowflakeGenerator(seat);
  return (count) => generator.nextIds(count);
}
