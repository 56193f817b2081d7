/**
 * Sessions in which a statement that was carried out is not yet written, or cannot be.
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

/** Retryable: after a failover the name may lead to the primary again. */
export function fromReplica(): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    'What was read comes from a server that takes no writes: a replica, or one that is read ' +
      'only. Name the primary, so that it is found after a failover too; a proxy that sends ' +
      'reads to replicas has to send those of the registry to the primary.',
    { details: { refusal: 'replica' } },
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
    'The sql_mode NO_BACKSLASH_ESCAPES is on, with which drivers of MySQL escape strings ' +
      'incorrectly. Switch it off for the sessions that the SQL support gets.',
  );
}

/** Retryable: of a pool the next session may be another one. */
export function anotherTime(bentMs: number): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The session that the SQL support got tells a time that is ${Math.abs(bentMs)} ms ` +
      `${bentMs < 0 ? 'behind' : 'ahead of'} the clock of its server, as after SET timestamp, so ` +
      'nothing was granted by it. Leave the time of these sessions alone, or give it a pool of ' +
      'its own.',
    { details: { bentMs } },
  );
}

export function notFlushed(): SnowflakeError {
  return refused(
    'innodb_flush_log_at_trx_commit is not 1, or sync_binlog is not 1 although there is a binary ' +
      'log. So a crash loses positions that were granted, and the counters are told that nothing ' +
      'is ever lost. Set both to 1, or leave out replicated=false.',
  );
}

export function notSynchronous(): SnowflakeError {
  return refused(
    'PRAGMA synchronous is below FULL, so a power failure loses positions that were granted. ' +
      'Set it to FULL on this handle, or set failoverWindowMs to the age of the oldest write ' +
      'that can be lost.',
  );
}

function refused(message: string): SnowflakeError {
  return new SnowflakeError('STORE_UNAVAILABLE', message, { retryable: false });
}
