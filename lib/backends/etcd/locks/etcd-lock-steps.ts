/**
 * The parts of the transactions of locks, as the gateway wants them: what has to be so, and what is
 * put or deleted then.
 */
import { toBase64 } from '../worker-ids/etcd-rows.js';

/** True as long as a key has a text; without one, where it is not there. */
export function isText(key: string, text: string | undefined): object {
  if (text === undefined) return isAbsent(key);
  return { key: toBase64(key), target: 'VALUE', result: 'EQUAL', value: toBase64(text) };
}

export function isAbsent(key: string): object {
  return { key: toBase64(key), target: 'CREATE', result: 'EQUAL', create_revision: '0' };
}

/** With a lease the key is deleted when it ends. */
export function putWith(key: string, text: string, lease?: string): object {
  const value = { key: toBase64(key), value: toBase64(text) };
  return { request_put: { ...value, ...(lease !== undefined && { lease }) } };
}

export function deletion(key: string): object {
  return { request_delete_range: { key: toBase64(key) } };
}
