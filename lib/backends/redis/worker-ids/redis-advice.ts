/**
 * What is said of a Redis that serves worker ids less well than it could: what it means for ids,
 * and what to do about it.
 */
import type { SnowflakeError } from '../../../errors.js';

export function evicted(policy: string): string {
  return (
    `Redis may evict any key when memory runs short (maxmemory-policy ${policy}), including the ` +
    `registry of worker ids. Ids stay unique, but run ahead for a while after each loss. Use ` +
    `volatile-lru or noeviction.`
  );
}

export function settingsUnread({ message, details }: SnowflakeError): string {
  if (details['refusal'] === 'permission') {
    return (
      'This user may not run INFO, without which nothing is leased: nobody would notice that a ' +
      'failover of Redis forgot what it granted. Allow it: ACL SETUSER <user> +info.'
    );
  }
  return `The settings of Redis could not be read. ${message}`;
}
