/**
 * An inspector for which a command waits no longer than --timeout says.
 *
 * Promise: closing is never cut short.
 */
import type { RegistryInspector } from '../../registry/registry-view.js';
import { within } from './within.js';

export function limitedInspector(
  inspector: RegistryInspector,
  timeoutMs: number,
): RegistryInspector {
  const { where, key, lossWindowMs } = inspector;
  const place = { where, lastFault: () => inspector.lastFault?.() };
  const limited = <T>(asked: Promise<T>) => within(timeoutMs, asked, place);
  return {
    where,
    key,
    lossWindowMs,
    read: () => limited(inspector.read()),
    findings: () => limited(inspector.findings()),
    release: (lease, lastIssuedMs) => limited(inspector.release(lease, lastIssuedMs)),
    close: () => inspector.close(),
  };
}
