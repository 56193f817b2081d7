/**
 * Where the figures of docs/internals and docs/operating come from.
 */
import * as our from './constants.js';
import type { Sources } from './figure.js';

const { lease } = our;
const RESULTS = 'bench/RESULTS.md: ';
const ALERTS = 'docs/operating/monitoring/alert-rules.yaml: ';
const STANDBY = 'test/chaos/stores/postgres.mjs: GOES_ON_MS = 2000';
const BUCKETS = 'lib/time/call-record.ts: 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000';

export const OPERATING: Sources = {
  'docs/internals/architecture.md': {
    '100 ms': our.firstRetryMs,
    '2 s': our.lastRetryMs,
  },
  'docs/internals/performance.md': {
    '40.4 ns': our.measuredPartMs('Date.now() alone'),
    '41.7 ns': our.measuredPartMs('the least: Date.now(), two 32-bit words, one bigint'),
    '43.3 ns': our.measuredPartMs('**nestjs-snowflake nextId()**'),
    '8.0 ns': our.measuredPartMs('nextId(), the clock frozen'),
    '13.4 ns': our.measuredPartMs('nextId(), the clock read for every 8th id only (not offered)'),
    '96.6 ns': our.measuredIdMs('@sapphire/snowflake'),
    '4.64 ns': our.measuredBatchMs('fill(1000)'),
    '1.94 ns': our.measuredBatchMs('fill(1,000,000), 41/4/18'),
    '2 ns': our.measuredBatchMs('fill(1,000,000), 41/4/18'),
    '11 ns': our.measuredBatchMs('nextIdStrings(1000)'),
    '38.9 ns': our.measuredDateMs,
    '56 bytes': `${RESULTS}| **nestjs-snowflake** | 56.0`,
    '61 %': `${RESULTS}61 % twice`,
    '99.7 %': `${RESULTS}| 4,082,187      | 99.7 %`,
    '2.4 %': `${RESULTS}| 2.37 (`,
    '0.5 %': `${RESULTS}| 0.47 (`,
    '35 µs': `${RESULTS}| 34.5 (25.6`,
    '1.1 s': `${RESULTS}| 1124 (`,
  },
  'docs/internals/proof.md': {
    '1.5 s': 'test/chaos/counter-topologies.mjs: CUT_OFF_MS = 1500',
    '1000 ms': our.aheadMs,
    '4 s': 'test/chaos/fleet.mjs: OFFSETS_S = [4, -4',
    '10.5 s': 'test/chaos/faults.mjs: PAST_LEASE_MS = 10_500',
    '2 s': STANDBY,
    '1 MiB': 'test/chaos/stores/files.mjs: a file system of 1 MiB',
    '7 s': 'test/chaos/fault.mjs: STILL_MS = 7000',
    '3 s': "test/chaos/processes/lock-worker.mjs: CHAOS_TTL_MS = '3000'",
    '12 s': 'test/chaos/mistakes/losses.mjs: EVICTION_MS = 12_000',
  },
  'docs/operating/command-line.md': {
    '10 s': lease.refreshAliveIntervalMs,
    '500 ms': lease.callTimeoutMs / 4,
    '5 s': lease.maxClockSkewMs,
    '90 %': 'lib/stores/redis/redis-inspector.ts: MEMORY_SHARE_MAX = 0.9;',
    '16 MiB': 'lib/stores/host/folder-store.ts: FREE_BYTES_MIN = 16 * 2 ** 20',
  },
  'docs/operating/dashboard.md': {
    '15 s': 'lib/dashboard/page/main.ts: DIFFERING_MS = 15_000',
    '3 s': 'lib/dashboard/worker-list.ts: WAITED_MS_MAX = 3000',
  },
  'docs/operating/failure-modes.md': {
    '1 s': our.releaseMs,
    '5 s': lease.maxDriftMs,
    '26 s': 'test/segments/several-stores.spec.ts: toBeGreaterThanOrEqual(26_000)',
    '10 ms': our.longestWaitMs,
    '10 s': our.silenceMs,
  },
  'docs/operating/kubernetes.md': {
    '60 s': lease.ttlMs,
    '25 %': 'docs/operating/kubernetes.md: maxSurge: 25%',
    '30 s': lease.startTimeoutMs,
    '1 s': our.firstStartMs,
    '3 s': our.slowestFirstStartMs,
    '17 s': our.firstStartMs + our.lossMs,
    '19 s': our.slowestFirstStartMs + our.lossMs,
  },
  'docs/operating/managed-redis.md': { '15 s': our.failoverMs, '12 s': our.latestRenewalMs },
  'docs/operating/monitoring.md': {
    '10 s': lease.refreshAliveIntervalMs,
    '12 s': our.latestRenewalMs,
    '48 s': lease.ttlMs - our.latestRenewalMs,
    '60 s': lease.ttlMs,
    '40 s': lease.ttlMs - 20_000,
    '200 ms': BUCKETS,
    '500 ms': BUCKETS,
    '2 s': lease.callTimeoutMs,
    '5 s': lease.maxClockSkewMs,
    '1 s': our.aheadMs,
    '30 s': `${ALERTS}for: 30s`,
    '20 s': `${ALERTS}snowflake_lease_remaining_seconds < 20`,
    '15 s': `${ALERTS}for: 15s`,
    '0.5 s': `${ALERTS}snowflake_ids_ahead_seconds > 0.5`,
    '2.5 s': `${ALERTS}abs(snowflake_clock_skew_seconds) > 2.5`,
    '1 min': `${ALERTS}for: 1m`,
    '5 min': `${ALERTS}for: 5m`,
    '10 min': `${ALERTS}for: 10m`,
    '15 min': `${ALERTS}{answer="cloned"}[15m]`,
    '80 %': `${ALERTS}> 0.8`,
    '5 years': `${ALERTS}< 5 * 365.25 * 86400`,
  },
};
