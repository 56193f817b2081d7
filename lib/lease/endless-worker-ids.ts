/**
 * The worker ids without end that this process uses, from the configuration, the host name, or a
 * service of the application. No registry keeps two generators with such a number apart.
 *
 * Promise: within a thread a number serves one generator at a time, and the next one starts after
 * the last id of the previous one. Other threads and processes are up to the operator.
 */
import { SnowflakeError } from '../errors.js';
import { processWide } from '../process-wide.js';
import type { LeaseGrant, LeaseTerms } from './distributed-support.js';

interface Use {
  /** Undefined when it was given back. */
  token: string | undefined;
  /** Where the next generator begins, Unix ms. */
  floorMs: number;
}

type Holder = Pick<LeaseTerms, 'fingerprint'> & { readonly token: string };

/** By layout and worker id. */
const uses = processWide('endless-worker-ids', () => new Map<string, Use>());

/**
 * The grant as it may be used here; a grant that ends is left as it is.
 * @throws SnowflakeError CONFIG_INVALID for a number that another generator uses.
 */
export function claimEndless(grant: LeaseGrant, holder: Holder): LeaseGrant {
  if (grant.ceilingMs !== Infinity) return grant;
  const key = keyOf(holder, grant.workerId);
  const use = uses.get(key) ?? { token: undefined, floorMs: -Infinity };
  if (use.token !== undefined && use.token !== holder.token) throw usedTwice(grant.workerId);
  use.token = holder.token;
  uses.set(key, use);
  return { ...grant, floorMs: Math.max(grant.floorMs, use.floorMs) };
}

/** Started again within the same tick, the next one would make the same ids. */
export function giveBackEndless(
  lease: Holder & { readonly workerId: number },
  lastIssuedMs = -Infinity,
): void {
  const use = uses.get(keyOf(lease, lease.workerId));
  if (use?.token !== lease.token) return;
  use.token = undefined;
  use.floorMs = Math.max(use.floorMs, lastIssuedMs + 1);
}

function keyOf({ fingerprint }: Holder, workerId: number): string {
  return `${fingerprint} ${workerId}`;
}

function usedTwice(workerId: number): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `Worker id ${workerId} already serves another generator of this process, and both would make ` +
      `the same ids. Give each generator its own worker id, or close the other application first.`,
    { details: { workerId } },
  );
}
