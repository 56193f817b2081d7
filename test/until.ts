/**
 * Waits for what a test means, never for a time. The limit is there for what never comes; it is
 * large, because a busy machine is no fault, and it costs nothing where all is well.
 */
import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT_MS = 300_000;
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
