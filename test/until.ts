/**
 * Helpers for all specs: waiting for a condition, the number of property runs, and the code of an
 * error.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SnowflakeError } from '../lib/errors.js';

/**
 * The limit for a condition that never holds. It is generous for busy machines, and costs nothing
 * if the condition holds.
 */
const LIMIT_MS = Number(process.env['UNTIL_MS_MAX'] ?? 300_000);
const BETWEEN_MS = 20;

/** @throws Error with the message if the condition does not hold within the limit */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  message: () => string = () => `Waited in vain for: ${isSo.toString()}`,
): Promise<void> {
  const endMs = performance.now() + LIMIT_MS;
  while (!(await isSo())) {
    if (performance.now() > endMs) throw new Error(message());
    await sleep(BETWEEN_MS);
  }
}

/** Waits for the wall clock; an event by another clock may come a little later. */
export function untilTime(ms: number): Promise<void> {
  return until(() => Date.now() > ms);
}

/** The number of runs of a property: as given, or a tenth of that in `npm run test:quick`. */
export const runs = (count: number): number =>
  process.env['TEST_QUICK'] === undefined ? count : Math.ceil(count / 10);

/** The code of the error that a call throws, or 'none'. */
export function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as SnowflakeError).code;
  }
  return 'none';
}
