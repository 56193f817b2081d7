/**
 * Ids made here, by the generator that makes them in a service.
 */
import { SnowflakeGenerator, LeaseWindow, type BitLayout } from 'nestjs-snowflake/core';

/** @returns a function that makes so many ids, all different */
export function makerOf(layout: BitLayout, workerId: number): (count: number) => bigint[] {
  const window = new LeaseWindow(layout);
  window.grant({ workerId, floorMs: -Infinity, ceilingMs: Infinity });
  const generator = new SnowflakeGenerator(window);
  return (count) => generator.nextIds(count);
}
