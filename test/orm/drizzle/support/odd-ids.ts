/**
 * A generator of odd ids, for tests of digits: a number would keep one of two even ids.
 */
import { BitLayout, startSnowflake, type RunningSnowflake } from 'nestjs-snowflake';

const WORKER_ID = 7;

/** The worker is last. */
const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['sequence', 12],
    ['worker', 10],
  ],
});

export const startOddIds = (): Promise<RunningSnowflake> =>
  startSnowflake({ workerId: WORKER_ID, layout });

export const isOurs = (id: string): boolean =>
  BigInt(id) % 2n === 1n && layout.parse(id).workerId === WORKER_ID;

/** Beyond 2^53, odd, and not ours. */
export const PRESET = '911704225635921921';
