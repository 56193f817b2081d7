/**
 * An inspector for which a command waits no longer than --timeout says.
 *
 * Promise: closing is never cut short.
 */
import { SnowflakeError } from '../../errors.js';
import { systemTimers } from '../../patience/timers.js';
import { withinLimit } from '../../patience/within-limit.js';
import type { RegistryInspector } from '../../registry/registry-view.js';

export function limitedInspector(inspector: RegistryInspector, ms: number): RegistryInspector {
  const { where, key, lossWindowMs, preparation } = inspector;
  const over = () => {
    throw silent(inspector, ms);
  };
  const limited = <T>(asked: Promise<T>) => withinLimit(asked, { timers: systemTimers, ms, over });
  return {
    where,
    key,
    lossWindowMs,
    ...(preparation && {
      preparation: { text: preparation.text, run: () => limited(preparation.run()) },
    }),
    read: (countMax) => limited(inspector.read(countMax)),
    findings: () => limited(inspector.findings()),
    release: (lease, lastIssuedMs) => limited(inspector.release(lease, lastIssuedMs)),
    close: () => inspector.close(),
  };
}

function silent(inspector: RegistryInspector, ms: number): SnowflakeError {
  const fault = inspector.lastFault?.()?.message.replace(/\.$/, '');
  const last = fault === undefined ? '' : `; the last error was: ${fault}`;
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The store at ${inspector.where} did not answer within ${ms} ms${last}. Check that it is up ` +
      `and reachable from this host, or raise --timeout.`,
  );
}
