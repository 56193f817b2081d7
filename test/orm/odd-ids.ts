/**
 * Ids for tests of digits: each that this generator makes is odd and beyond 2^53, so that no number
 * holds it.
 */
import { Logger } from '@nestjs/common';
import { BitLayout, currentIdMaker, startSnowflake } from 'nestjs-snowflake';

/** The worker id stands last, so it makes every id odd. */
export const LAYOUT = new BitLayout({
  epoch: '2024-01-01T00:00:00Z',
  fields: [
    ['timestamp', 41],
    ['sequence', 12],
    ['worker', 10],
  ],
});
export const WORKER_ID = 7;
/** Odd and beyond 2^53, made by another worker: of rows that were there before. */
export const EARLIER_ID = '382366441078289409';

export const newId = (): string => currentIdMaker().nextIdString();

/** By the generator of this test. */
export const isMade = (id: string): boolean => LAYOUT.parse(id).workerId === WORKER_ID;

/** As a script does, without a store. */
export function startGenerator() {
  Logger.overrideLogger(false);
  return startSnowflake({ workerId: WORKER_ID, layout: LAYOUT });
}
