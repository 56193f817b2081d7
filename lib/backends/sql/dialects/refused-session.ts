/**
 * Sessions in which a statement that was carried out is not yet written.
 *
 * Promise: what could still be rolled back is never taken for written.
 */
import { SnowflakeError } from '../../../errors.js';

export function inTransaction(): SnowflakeError {
  return refused(
    'The query function of the SQL support runs inside a transaction that is open. What is ' +
      'leased there could be rolled back and leased twice. Give it the pool, not a client or a ' +
      'manager that is bound to a transaction.',
  );
}

export function withoutAutocommit(): SnowflakeError {
  return refused(
    'autocommit is off in the sessions that the SQL support gets, so that nothing it writes ' +
      'would ever be committed. Leave autocommit on, or give it a pool of its own.',
  );
}

export function withoutEscapes(): SnowflakeError {
  return refused(
    'The sql_mode NO_BACKSLASH_ESCAPES is on, in which drivers of MySQL put text into statements ' +
      'wrongly. Switch it off for the sessions that the SQL support gets.',
  );
}

export function notFlushed(): SnowflakeError {
  return refused(
    'innodb_flush_log_at_trx_commit is not 1, so that a crash loses positions that were granted, ' +
      'and the counters are told that nothing is ever lost. Set it to 1, or leave out ' +
      'replicated=false.',
  );
}

export function notSynchronous(): SnowflakeError {
  return refused(
    'PRAGMA synchronous is below FULL, so that a power failure loses positions that were ' +
      'granted. Set it to FULL on this handle, or say by failoverWindowMs how old the writes are ' +
      'that are lost at most.',
  );
}

function refused(message: string): SnowflakeError {
  return new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}
