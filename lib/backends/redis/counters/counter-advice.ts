/**
 * What is said of a Redis that may lose counters: what it means for numbers, and what to do about
 * it.
 */
import { SnowflakeError } from '../../../errors.js';

export function unsynced(place: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `${place}: appendfsync is no, so when its machine fails everything is lost that the system ` +
      `had not written by itself, often half a minute. No position is granted. Set appendfsync ` +
      `everysec, or set \`lossWindowMs\` to the age of the oldest write that can be lost.`,
    { retryable: false, details: { refusal: 'not-synced' } },
  );
}

export function withoutFile(lossWindowMs: number): string {
  return (
    `The append-only file of Redis is off. A restart loses everything since the last save, and ` +
    `the counters rest on the promise that this is never older than ${lossWindowMs} ms. Set ` +
    `appendonly yes.`
  );
}

export function evicted(policy: string): string {
  return (
    `Redis may evict any key when memory runs short (maxmemory-policy ${policy}), including ` +
    `counters, which are then refused as absent. Use volatile-lru or noeviction.`
  );
}
