/**
 * What ids made in a store say when there are none: what happened, and what to do.
 *
 * Promise: no id was made when one of these is thrown.
 */
import type { BitLayout } from '../../core/layout/bit-layout.js';
import { SnowflakeError } from '../../errors.js';
import { shownName } from '../../shown.js';

export const WAIT_CURE = 'Wait with nextIdAsync(); if this lasts, raise `aheadMs`.';

export function notStarted(): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    'The store has given no ids yet, so no id was made. Make ids after the start of the ' +
      'application, or wait with nextIdAsync().',
  );
}

export function stopped(): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    'The generator was stopped at shutdown, so no id was made. This is the last shutdown step: ' +
      'make ids earlier, in the onApplicationShutdown hooks at the latest.',
    { retryable: false },
  );
}

/** Every synchronous call, where nothing is taken ahead. */
export function needsPrefetch(): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    'These ids are made in a store, which cannot be asked without waiting, so no id was made. ' +
      'Call nextIdAsync() or nextIdsAsync(), or give `prefetch: { count: 1000, staleMs: 1000 }`, ' +
      'with which ids are taken ahead: nextId(), @SnowflakeId() and inserts of TypeORM need it.',
  );
}

export function handSpent(tag: string, fault: SnowflakeError | undefined): SnowflakeError {
  const why = fault === undefined ? 'The next ones are on their way.' : fault.message;
  return new SnowflakeError(
    'SEGMENT_SPENT',
    `All prefetched ids of ${shownName(tag)} are used or older than \`staleMs\`, so no id was ` +
      `made. ${why} Wait with nextIdAsync(); if this is seen often, raise \`prefetch.count\`.`,
    { cause: fault },
  );
}

export function beforeEpochOfLayout(layout: BitLayout, storeMs: number): SnowflakeError {
  return new SnowflakeError(
    'CLOCK_UNUSABLE',
    `The clock of the store reads ${storeMs} ms, before the epoch ${layout.epochMs} of layout ` +
      `${layout.fingerprint}, so no id was made. Set the clock of the store's host.`,
    { details: { storeMs, epochMs: layout.epochMs } },
  );
}
