/**
 * The error, and the wait before the next try, for an acquire that brought no worker id.
 *
 * Promise: the error says whether waiting can help, and no wait is so long that a worker id which
 * somebody gives back is overlooked.
 */
import { SnowflakeError } from '../errors.js';
import type { LeaseAnswer, LeaseGrant, LeaseRequest } from './distributed-support.js';
import { otherLayout, otherVersion } from './other-registry.js';

/** Without a wait of its own the delay between two tries decides. */
export interface Refused {
  readonly error: SnowflakeError;
  readonly waitMs?: number;
}

/** Asked again after this at the latest, however long the answer says. */
const WAIT_MS_MAX = 2000;

export function refused(
  answer: Exclude<LeaseAnswer, LeaseGrant>,
  { fingerprint, takesOver = false }: LeaseRequest,
): Refused {
  switch (answer.status) {
    case 'none-free':
      // Without a wait of its own: somebody may give a worker id back at any time.
      return { error: noneFree(answer.waitMs) };
    case 'wait':
    case 'hold':
      return {
        error: tooSoon(answer.waitMs, takesOver),
        waitMs: Math.min(answer.waitMs, WAIT_MS_MAX),
      };
    case 'layout-mismatch':
      return { error: otherLayout(answer.fingerprint, fingerprint) };
    case 'other-version':
      return { error: otherVersion(answer.version) };
    default:
      return { error: unexpected(answer.status) };
  }
}

/** The error of a start that has waited for as long as it may. */
export function gaveUp(startTimeoutMs: number, error: SnowflakeError): SnowflakeError {
  const message = `No worker id was leased within ${startTimeoutMs} ms. ${error.message}`;
  return new SnowflakeError(error.code, message, { details: error.details, cause: error });
}

function noneFree(waitMs: number): SnowflakeError {
  return new SnowflakeError(
    'NO_WORKER_FREE',
    `Every worker id is leased; the next one is free in ${waitMs} ms at the latest. Stop ` +
      `processes that are not needed, shorten leaseTtlMs, or use a layout with more worker bits.`,
    { details: { waitMs } },
  );
}

function tooSoon(waitMs: number, takesOver: boolean): SnowflakeError {
  const reason = takesOver
    ? `The worker id was in use a moment ago, or the registry has lost data. Ids start in ` +
      `${waitMs} ms, after all that others may have made. If it takes longer, another running ` +
      `process has the same number.`
    : `The registry is new or has lost data. Ids start in ${waitMs} ms, after everything that it ` +
      `could have forgotten.`;
  return new SnowflakeError('NOT_READY', reason, { details: { waitMs } });
}

function unexpected(status: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The support answered '${status}' when asked for a worker id.`,
  );
}
