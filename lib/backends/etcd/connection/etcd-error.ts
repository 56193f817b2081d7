/**
 * Whatever a call to etcd fails with, as one of our errors.
 *
 * Promise: neither the message nor the cause holds a password or a token, whoever repeats them.
 */
import { SnowflakeError, isSnowflakeError } from '../../../errors.js';
import { plainCause, printable, withoutSecrets } from '../../../shown.js';
import { REFUSALS, type Refusal, type RefusalName } from './etcd-refusals.js';

export interface EtcdWhere {
  /** Host and port, for messages. */
  readonly where: string;
  /** Passwords and tokens, which an answer may repeat. */
  readonly secrets: readonly string[];
}

const SAID_LENGTH_MAX = 300;

/** @param cause an error of Node, or what was answered, in words */
export function etcdError(cause: unknown, { where, secrets }: EtcdWhere): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const error = plainCause(firstOf(cause), secrets);
  const code = (error as { code?: unknown }).code;
  const said = printable((error.message || String(code)).slice(0, SAID_LENGTH_MAX));
  const [name, refusal] = refusalOf([said, typeof code === 'string' ? code : '']);
  const plain = withoutSecrets(said.replace(/^etcdserver: /, '').replace(/\.+$/, ''), secrets);
  return new SnowflakeError('STORE_UNAVAILABLE', `etcd at ${where}: ${plain}. ${refusal.advice}`, {
    retryable: refusal.retryable,
    cause: error,
    details: { where, refusal: name },
  });
}

/** A host with several addresses fails with one error for each, and no message. */
function firstOf(cause: unknown): unknown {
  const { errors } = (cause ?? {}) as { errors?: unknown };
  return Array.isArray(errors) && errors.length > 0 ? errors[0] : cause;
}

function refusalOf(texts: readonly string[]): [RefusalName, Refusal] {
  const rows = Object.entries(REFUSALS) as [RefusalName, Refusal][];
  return rows.find(([, { says }]) => texts.some((text) => says.test(text)))!;
}

/** True where another member may give the answer that this one did not. */
export function isOfMember({ details }: SnowflakeError): boolean {
  const refusal = REFUSALS[details['refusal'] as RefusalName] as Refusal | undefined;
  return refusal?.isOfMember === true;
}
