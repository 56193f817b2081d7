/**
 * What Redis and its client say when they refuse, in our words: what happened and what to do.
 *
 * Promise: what only waiting can cure is retryable, what a person must cure is not.
 */
import { SnowflakeError, isSnowflakeError } from '../../errors.js';

interface Refusal {
  readonly starts: RegExp;
  readonly advice: string;
  /** False where trying again cannot help. */
  readonly retryable: boolean;
}

const REFUSALS: readonly Refusal[] = [
  {
    starts: /^NOAUTH/,
    advice: 'Redis asks for a password, and the support gives none. Write it into the URL.',
    retryable: false,
  },
  {
    starts: /^(WRONGPASS|ERR invalid password|ERR AUTH)/,
    advice: 'Redis refused the password. Check user and password of the support.',
    retryable: false,
  },
  {
    starts: /^NOPERM/,
    advice:
      'The user lacks a permission. The registry needs EVAL, EVALSHA, HSET, HGET, HMGET, ' +
      'HGETALL, ' +
      'HDEL, TIME and INFO on its one key.',
    retryable: false,
  },
  {
    starts: /^READONLY/,
    advice:
      'This server is a read-only replica. Name the master, or use redis+sentinel:// or ' +
      'redis+cluster:// so that it is found after a failover.',
    retryable: true,
  },
  {
    starts: /^OOM/,
    advice: 'Redis is out of memory and refuses writes. Raise maxmemory or remove other data.',
    retryable: true,
  },
  {
    starts: /^(LOADING|BUSY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)/,
    advice: 'Redis is not ready yet.',
    retryable: true,
  },
  {
    starts: /^MISCONF/,
    advice: 'Redis refuses writes because it cannot save to disk. See its log.',
    retryable: true,
  },
];

const UNREACHABLE: Refusal = {
  starts: /./,
  advice: 'Check that Redis runs and can be reached from this host.',
  retryable: true,
};

/** @param lastError what the connection said last; a command only says that there is none. */
export function redisError(cause: unknown, where: string, lastError?: Error): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const command = cause instanceof Error ? cause : new Error(String(cause));
  const reason = isReply(command) ? command : (lastError ?? command);
  const refusal = REFUSALS.find(({ starts }) => starts.test(reason.message)) ?? UNREACHABLE;
  const spoken = reason.message || (reason as { code?: string }).code || reason.name;
  const said = spoken.replace(/\.+$/, '');
  return new SnowflakeError('STORE_UNAVAILABLE', `Redis at ${where}: ${said}. ${refusal.advice}`, {
    retryable: refusal.retryable,
    cause: reason,
    details: { where },
  });
}

/** True for an answer of the server, false for what the client says about its connection. */
function isReply(error: Error): boolean {
  return error.name === 'ReplyError';
}
