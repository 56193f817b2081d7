/**
 * IDs for tests of lost digits: each generated ID is odd and above 2^53, so no number can hold it.
 */
import { Logger } from '@nestjs/common';
import { BitLayout, currentIdMaker, startSnowflake } from 'nestjs-snowflake';

/** The worker ID is the last field, so it makes every ID odd. */
export const LAYOUT = new BitLayout({
  epoch: '2024-01-01T00:00:00Z',
  fields: [
    ['timestamp', 41],
    ['sequence', 12],
    ['worker', 10],
  ],
});
export const WORKER_ID = 7;
/** Odd, above 2^53 and from another worker: the ID of rows that existed before. */
export const EARLIER_ID = '382366441078289409';

export const newId = (): string => currentIdMaker().nextIdString();

/** Whether the generator of this test created the ID. */
export const isMade = (id: string): boolean => LAYOUT.parse(id).workerId === WORKER_ID;

/** Starts a generator as a script does, without a store. */
export function startGenerator() {
  Logger.overrideLogger(false);
  return startSnowflake({ workerId: WORKER_ID, layout: LAYOUT });
}
