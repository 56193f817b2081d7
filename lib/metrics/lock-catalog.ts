/**
 * All metrics of locks, as a table: what a process holds, waits for, got and has lost.
 *
 * Promise: they are read from what the process knows; the store is not asked. No lock is named,
 * since names come and go.
 */
import type { DistributedLock, LockStatus } from '../lock/holding/distributed-lock.js';
import type { Family, MetricOf, ReaderOf } from './metric.js';

/** Locks whose metrics are wanted. */
export interface MeasuredLocks {
  /** The value of the label `locks`, where there are several. Default 'default'. */
  readonly name?: string | undefined;
  readonly locks: Pick<DistributedLock, 'status'>;
}

export function lockReader({ name = 'default', locks }: MeasuredLocks): ReaderOf<LockStatus> {
  return { name, read: () => locks.status };
}

const METRICS: readonly MetricOf<LockStatus>[] = [
  {
    prometheus: 'snowflake_locks_held',
    openTelemetry: 'snowflake.locks.held',
    kind: 'gauge',
    unit: '{lock}',
    help: 'Locks that this process holds',
    aggregator: 'sum',
    read: ({ held }) => held.length,
  },
  {
    prometheus: 'snowflake_locks_longest_held_seconds',
    openTelemetry: 'snowflake.locks.longest_held.seconds',
    kind: 'gauge',
    unit: 's',
    help: 'How long the longest-held lock has been held; absent where none is held',
    aggregator: 'max',
    read: ({ held }) =>
      held.length === 0 ? undefined : Math.max(...held.map(({ heldMs }) => heldMs)) / 1000,
  },
  {
    prometheus: 'snowflake_locks_waiting',
    openTelemetry: 'snowflake.locks.waiting',
    kind: 'gauge',
    unit: '{caller}',
    help: 'Callers of this process that wait for a lock, or for the answer of the store',
    aggregator: 'sum',
    read: ({ waitingCount }) => waitingCount,
  },
  {
    prometheus: 'snowflake_locks_attempts_total',
    openTelemetry: 'snowflake.locks.attempts',
    kind: 'counter',
    unit: '{attempt}',
    help: 'Attempts to hold a lock by outcome: refused where somebody else held it for too long',
    label: 'outcome',
    aggregator: 'sum',
    read: ({ counts: { acquired, refused, unavailable } }) => ({ acquired, refused, unavailable }),
  },
  {
    prometheus: 'snowflake_locks_waited_seconds_total',
    openTelemetry: 'snowflake.locks.waited.seconds',
    kind: 'counter',
    unit: 's',
    help: 'All the time that attempts took, whatever the outcome',
    aggregator: 'sum',
    read: ({ waitedMs }) => waitedMs / 1000,
  },
  {
    prometheus: 'snowflake_locks_lost_total',
    openTelemetry: 'snowflake.locks.lost',
    kind: 'counter',
    unit: '{lock}',
    help: 'Locks that were lost while they were held',
    aggregator: 'sum',
    read: ({ counts }) => counts.lost,
  },
];

export const LOCK_METRICS: Family<LockStatus> = { label: 'locks', metrics: METRICS };
