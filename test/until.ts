/**
 * What specs of all rooms need: to wait for what they mean, how often to try a property, and the
 * code of an error.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SnowflakeError } from '../lib/errors.js';

/** For what never comes: a busy machine is no fault, and it costs nothing where all is well. */
const LIMIT_MS = Number(process.env['UNTIL_MS_MAX'] ?? 300_000);
const BETWEEN_MS = 20;

/** @throws Error with the message if it is not so within the limit */
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

/** Until the wall clock says so: what another clock decides may come a little later. */
export function untilTime(ms: number): Promise<void> {
  return until(() => Date.now() > ms);
}

/** How often a property is tried: as it says, or a tenth of that in `npm run test:quick`. */
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
