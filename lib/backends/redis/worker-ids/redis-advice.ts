/**
 * What is said of a Redis that serves worker ids less well than it could.
 *
 * Promise: each says what it means for ids, and what to do.
 */
import type { SnowflakeError } from '../../../errors.js';

export function evicted(policy: string): string {
  return (
    `Redis evicts any key when memory is short (maxmemory-policy ${policy}), also the registry ` +
    `of worker ids. Ids stay unique, but run ahead for a while after each loss. Use ` +
    `volatile-lru or noeviction.`
  );
}

/** Where INFO may be asked, but not by a script, or has not the two fields. */
export const UNSEEN =
  'Redis does not tell a script which server runs it (run_id and master_replid of INFO), so a ' +
  'restart or failover that loses data is noticed only when a process renews a lease that was ' +
  'lost, and ids of that lease may be made twice until then. Use a server that does, or ' +
  'another store.';

export function settingsUnread({ message, details }: SnowflakeError): string {
  if (details['refusal'] === 'permission') {
    return (
      'This user may not run INFO, so a restart or failover of Redis that loses data is noticed ' +
      'only when a process renews a lease that was lost. Allow it: ACL SETUSER <user> +info.'
    );
  }
  return `The settings of Redis could not be read. ${message}`;
}
