/**
 * Whatever a call to Redis fails with, as one of our errors.
 *
 * Promise: neither the message nor the cause holds an argument of a command or a password. The
 * errors of a client hold both: AUTH and its arguments among them, also where they were right.
 */
import { SnowflakeError, isSnowflakeError } from '../../../errors.js';
import { plainCause, withoutSecrets } from '../../../shown.js';
import type { RedisPlace } from './redis-place.js';
import { REFUSALS, type Refusal, type RefusalName } from './redis-refusals.js';

/** What the errors of ioredis and Node may carry besides a message. */
interface ClientError extends Error {
  readonly code?: unknown;
  readonly lastNodeError?: unknown;
}

/** @param lastError what the connection said last; a command only says that there is none. */
export function redisError(cause: unknown, place: RedisPlace, lastError?: Error): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const command = nodeError(cause);
  const reason = isReply(command) ? command : nodeError(lastError ?? command);
  const said = saidBy(reason);
  const [name, refusal] = refusalOf(reason, said);
  const { where, secrets } = place;
  const plain = withoutSecrets(said.replace(/[.\s]+$/, ''), secrets);
  return new SnowflakeError('STORE_UNAVAILABLE', `Redis at ${where}: ${plain}. ${refusal.advice}`, {
    retryable: refusal.retryable,
    cause: plainCause(reason, secrets),
    details: { where, refusal: name },
  });
}

/** A Cluster says that all nodes failed, and keeps to itself what the last of them said. */
function nodeError(error: unknown): ClientError {
  const last = (error as ClientError | undefined)?.lastNodeError;
  if (last instanceof Error) return last;
  return error instanceof Error ? error : new Error(String(error));
}

/** True for an answer of the server, false for what the client says about its connection. */
function isReply(error: Error): boolean {
  return error.name === 'ReplyError';
}

/** The client puts the first before what the server said, Redis before 7 the second. */
const PREFIXES = [/^Ready check failed: /, /^ERR Error running script \([^)]*\): @\S+: ?\d+: -?/];

function saidBy(error: ClientError): string {
  // It says how often it tried, which is once, and nothing of why.
  if (error.name === 'MaxRetriesPerRequestError') return 'the connection was closed';
  const said = error.message || (typeof error.code === 'string' ? error.code : error.name);
  return PREFIXES.reduce((text, prefix) => text.replace(prefix, ''), said);
}

const UNEXPECTED: Refusal = {
  says: /^/,
  advice: 'Redis gave an unexpected answer. See its log.',
  retryable: true,
};

function refusalOf(reason: ClientError, said: string): [RefusalName | 'unexpected', Refusal] {
  const code = typeof reason.code === 'string' ? reason.code : '';
  for (const [name, refusal] of Object.entries(REFUSALS) as [RefusalName, Refusal][]) {
    if (name === 'unreachable' && isReply(reason)) return ['unexpected', UNEXPECTED];
    if (refusal.says.test(said) || refusal.says.test(code)) return [name, refusal];
  }
  return ['unexpected', UNEXPECTED];
}
