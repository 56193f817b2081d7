/**
 * Where each figure of the documents comes from: the tables of bench/RESULTS.md, a constant or
 * layout of the library, or words of a test or of another file. A few are not ours to show.
 */
import { layouts } from 'nestjs-snowflake/core';
import { FUTURE_MS_MAX } from '../../../lib/http/check-id.js';
import { KEPT_MS } from '../../../lib/lock/lock-snapshot.js';
import { HEADER_AGE_MS } from '../../../lib/registry/stored-snapshot.js';
import { LINE_MS_MAX } from '../../../lib/stores/etcd/http-request.js';
import { readTree } from '../../tidy/tree.js';
import * as our from './figure.js';
import { tableUnder, WAITING, isShownAs, numberOf } from './figure.js';
import type { Sources, Figure } from './figure.js';

// Where the figures of docs/internals and docs/operating come from.

const { lease } = our;
const RESULTS = 'bench/RESULTS.md: ';
const POLL = 'lib/lock/lock-attempt.ts: polling: { firstMs: 5';
const LEAST_HOLD = 'lib/nest/lock/cron-once.ts: LEAST_HOLD_MS = 300_000';
const ALERTS = 'docs/operating/monitoring/alert-rules.yaml: ';
const STANDBY = 'test/chaos/stores/postgres.mjs: GOES_ON_MS = 2000';
const BUCKETS = 'lib/time/call-record.ts: 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000';

const OPERATING: Sources = {
  'docs/internals/failure-evidence.md': {
    '1 s': our.releaseMs,
    '5 s': lease.maxDriftMs,
    '26 s': 'test/segments/several-stores.spec.ts: toBeGreaterThanOrEqual(26_000)',
    '10 ms': our.longestWaitMs,
    '10 s': our.silenceMs,
  },
  'docs/internals/performance.md': {
    '35.0 ns': our.measuredPartMs('Date.now() alone'),
    '41.4 ns': our.measuredPartMs('the least: Date.now(), two 32-bit words, one bigint'),
    '42.7 ns': our.measuredPartMs('**nestjs-snowflake nextId()**'),
    '7.55 ns': our.measuredPartMs('nextId(), the clock frozen'),
    '12.6 ns': our.measuredPartMs('nextId(), the clock read for every 8th id only (not offered)'),
    '94.1 ns': our.measuredIdMs('@sapphire/snowflake'),
    '3.10 ns': our.measuredBatchMs('fill(1000)'),
    '1.19 ns': our.measuredBatchMs('fill(1,000,000), 41/4/18'),
    '1 ns': our.measuredBatchMs('fill(1,000,000), 41/4/18'),
    '10 ns': our.measuredBatchMs('nextIdStrings(1000)'),
    '32.3 ns': our.measuredDateMs,
    '56 bytes': `${RESULTS}| **nestjs-snowflake** | 56.0`,
    '100.0 %': `${RESULTS}| 4,094,657      | 100.0 %`,
    '1.8 %': `${RESULTS}| 1.78 (`,
    '0.2 %': `${RESULTS}| 0.22 (`,
    '27 µs': `${RESULTS}| 27.1 (27.1`,
    '1.7 s': `${RESULTS}| 1651 (`,
    '1 s': our.firstStartMs,
  },
  'docs/internals/server-facts.md': {
    '3 s': 'lib/stores/redis/client-life.ts: TOLD_MS = 3000',
    '300 ms': 'lib/stores/redis/client-life.ts: OTHERS_MS = 300',
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
    '12 s': 'test/chaos/mistakes/servers.mjs: EVICTION_MS = 12_000',
    '300 ms': 'test/chaos/machine.mjs: FSYNC_MS = [50, 300, 900]',
    '900 ms': 'test/chaos/machine.mjs: FSYNC_MS = [50, 300, 900]',
    '12 MiB': 'test/chaos/soak.mjs: least: 12 * 2 ** 20',
    '2 %': 'test/chaos/soak.mjs: heap: { least: 2 ** 20, share: 0.02 }',
    '6 %': 'test/chaos/soak.mjs: share: 0.06 }',
    '5 %': 'test/chaos/soak.mjs: share: 0.05 }',
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
    '3 s': 'lib/dashboard/store-lists.ts: WAITED_MS_MAX = 3000',
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
  'docs/guides/regions.md': { '20 s': 'lib/lease/region-claim.ts: CLAIM_TTL_MS = 20_000' },
  'docs/operating/monitoring.md': {
    '10 s': lease.refreshAliveIntervalMs,
    '12 s': our.latestRenewalMs,
    '48 s': lease.ttlMs - our.latestRenewalMs,
    '60 s': lease.ttlMs,
    '200 ms': BUCKETS,
    '500 ms': BUCKETS,
    '2 s': lease.callTimeoutMs,
    '5 s': lease.maxClockSkewMs,
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
  'docs/operating/runbooks.md': {
    '38 s': lease.ttlMs - our.latestRenewalMs - lease.reserveMs,
    '30 s': lease.startTimeoutMs,
    '60 s': lease.ttlMs,
    '10 s': lease.refreshAliveIntervalMs,
    '20 s': `${ALERTS}snowflake_lease_remaining_seconds < 20`,
    '15 s': `${ALERTS}for: 15s`,
    '0.5 s': `${ALERTS}snowflake_ids_ahead_seconds > 0.5`,
    '2.5 s': `${ALERTS}abs(snowflake_clock_skew_seconds) > 2.5`,
    '2 s': lease.callTimeoutMs,
    '5 s': lease.maxClockSkewMs,
    '1 s': our.aheadMs,
    '1 min': `${ALERTS}for: 1m`,
    '5 min': `${ALERTS}for: 5m`,
    '10 min': `${ALERTS}for: 10m`,
    '15 min': `${ALERTS}{answer="cloned"}[15m]`,
    '80 %': `${ALERTS}> 0.8`,
    '5 years': `${ALERTS}< 5 * 365.25 * 86400`,
  },
};

// Where the figures of README, start, concepts, guides and reference come from.

const LAST_YEARS = 'lib/core/layout/bit-layout.ts: WARNING_MS = 5 * 365.25';
const LOCK_TTL = 'lib/lock/lock-options.ts: ttlMs: 10_000';
const LOCK_CALL = 'lib/lock/lock-options.ts: callTimeoutMs: 2000';
const SIZE = 'test/stores/redis.support.spec.ts: takes about 0.5 MB for 1024 holders, 470 bytes';
const BUFFERED = 'test/segments/several-stores.spec.ts: toBeGreaterThanOrEqual(26_000)';
const FOR_ALL = 'test/segments/segment-keeper.spec.ts: 222,000';

/** The page shows the first rows. */
const WAITED = Object.fromEntries(
  tableUnder(WAITING)
    .slice(1, 7)
    .flatMap(([, to50, , to99]) => [to50, to99].map((ms) => [`${ms} ms`, Number(ms)])),
);

const GUIDES: Sources = {
  'README.md': {
    '44 ns': our.measuredIdMs('**nestjs-snowflake**'),
    '35 ns': our.measuredPartMs('Date.now() alone'),
    '7.42 ns': our.measuredBatchMs('nextIds(1000)'),
    '43.6 ns': our.measuredIdMs('**nestjs-snowflake**'),
    '48.1 ns': our.measuredIdMs('bson ObjectId'),
    '84.3 ns': our.measuredIdMs('snowflake-uuid'),
    '94.1 ns': our.measuredIdMs('@sapphire/snowflake'),
    '95.5 ns': our.measuredIdMs('nodejs-snowflake'),
    '1618 ns': our.measuredIdMs('uuid v7'),
    '60 s': lease.ttlMs,
    '15 s': our.failoverMs,
    '1 s': our.differenceMs,
    '5 s': lease.maxDriftMs,
    '4096 per ms': our.perMs(layouts.snowflake()),
    '59 %': `${RESULTS}59 % duplicates`,
    '2.1 MB': 'test/package/package.spec.ts: BYTES_MAX = 2_150_000',
  },
  'site/home.md': {
    '44 ns': our.measuredIdMs('**nestjs-snowflake**'),
    '2.1 MB': 'test/package/package.spec.ts: BYTES_MAX = 2_150_000',
  },
  'docs/start.md': {
    '60 s': lease.ttlMs,
    '17 s': our.firstStartMs + our.lossMs,
    '5 s': 'lib/nest/early-callers.ts: SILENT_MS = 5000',
  },
  'docs/concepts/choosing.md': {
    '1 s': our.aheadMs,
    '5 years': LAST_YEARS,
    '4,096,000 per second': our.perSecond(layouts.snowflake()),
  },
  'docs/concepts/clock.md': {
    '5 s': lease.maxDriftMs,
    '1 s': our.aheadMs,
    '10 ms': our.longestWaitMs,
    '1 ms': 'lib/lease/wait-queue.ts: lookAgainMs = 1;',
    // A random start lies in the lower half.
    '2048 per ms': our.perMs(layouts.snowflake()) / 2,
  },
  'docs/concepts/glossary.md': { '1 ms': layouts.snowflake().unitMs },
  'docs/concepts/guarantees.md': {
    '60 s': lease.ttlMs,
    '38 s': lease.ttlMs - our.latestRenewalMs - lease.reserveMs,
    '12 s': our.latestRenewalMs,
    '10 s': lease.reserveMs,
    '15 s': our.failoverMs,
    '1 s': our.differenceMs,
    '26 s': BUFFERED,
    '222,000 per second': FOR_ALL,
  },
  'docs/concepts/layout.md': {
    '1 ms': layouts.snowflake().unitMs,
    '10 ms': layouts.sonyflake().unitMs,
    '1 s': layouts.baidu().unitMs,
    '2 s': our.drawAgainMs,
    '4,096,000 per second': our.perSecond(layouts.snowflake()),
  },
  'docs/concepts/lease.md': {
    '10 s': lease.reserveMs,
    '15 s': our.failoverMs,
    '1 s': our.differenceMs,
    '3 s': our.slowestFirstStartMs,
    '17 s': our.firstStartMs + our.lossMs,
    '19 s': our.slowestFirstStartMs + our.lossMs,
    '16 s': our.lossMs,
    '1000 ms': our.secondOfIdsMs,
    '4096 per ms': our.perMs(layouts.snowflake()),
  },
  'docs/concepts/why-never-twice.md': {
    '60 s': lease.ttlMs,
    '20 s': 'test/docs/pictures.spec.ts: a.backMs = 20_000',
  },
  'docs/guides/coming-from.md': { '1 s': our.aheadMs },
  'docs/guides/etcd.md': {
    '20 s': LINE_MS_MAX,
    '1 s': our.etcdDifferenceMs,
    '2 GiB': 'lib/stores/etcd/etcd-members.ts: etcd allows 2 GiB by default',
  },
  'docs/guides/host.md': {
    '10 ms': our.longestWaitMs,
    '1 s': layouts.baidu().unitMs,
    '60 s': 'lib/stores/host/folder-files.ts: CLOCK_MS_MAX = 60_000',
  },
  'docs/guides/ids-in-json.md': {
    '15 minutes': FUTURE_MS_MAX,
    '10 minutes': 'lib/lease/lease-options.ts: ttlMs: [10_000, 600_000]',
    '1 s': 'lib/http/snowflake-error.filter.ts: Math.max(1, seconds || 1)',
    '12,800 per second': our.perSecond(layouts.javascriptSafe()),
  },
  'docs/guides/ids-in-redis.md': {
    '2 s': our.redisRestartMs,
    '18 s': our.redisFailoverMs,
    '100 ms': our.firstRetryMs,
    '1024 per ms': our.perMs(layouts.redisIdGenerator()),
  },
  'docs/guides/locks.md': {
    '12 s': 10_000 + our.redisRestartMs,
    '10 s': LOCK_TTL,
    '2 s': LOCK_CALL,
    '50 ms': 'lib/lock/lock-attempt.ts: notified: { firstMs: 50',
    '5 ms': POLL,
    '1 s': 'lib/lock/local-queue.ts: polling: 1000',
    '25 ms': 'lib/lock/local-queue.ts: notified: 25',
    '500 ms': 'lib/lock/local-queue.ts: STREAK_MS = 500',
    '20 ms': 'bench/lock/waiting.mjs: holdMs: 20, restMs: 100',
    '100 ms': 'bench/lock/waiting.mjs: holdMs: 20, restMs: 100',
    '700 ms': 'bench/lock/waiting.mjs: holdMs: 700',
    '60 s': 'bench/lock/waiting.mjs: forMs: 60_000',
    ...WAITED,
  },
  'docs/guides/one-cron-job.md': {
    '12 s': 10_000 + our.redisRestartMs,
    '10 s': LOCK_TTL,
    '5 min': LEAST_HOLD,
  },
  'docs/guides/order-numbers.md': {
    '5 s': 'lib/rows/cas-retry.ts: TURN_MS_MAX = 5000',
    '10 s': 'lib/counters/series/series.ts: CALL_TIMEOUT_MS = 10_000',
  },
  'docs/guides/partitions.md': { '4 s': 'lib/cli/store/partitions.ts: STATEMENT_S = 4' },
  'docs/guides/redis.md': {
    '2 s': lease.callTimeoutMs,
    '0.5 MB': SIZE,
    '15 s': our.failoverMs,
    '18 s': our.redisFailoverMs,
    // A share of the table is a ratio there.
    '90 %': `${RESULTS}0.90 (0.89–0.91)`,
    '81 %': `${RESULTS}0.81 (0.79–0.82)`,
    '197 %': `${RESULTS}1.97 (1.95–2.00)`,
    '68 %': `${RESULTS}0.68 (0.67–0.69)`,
    '103 %': `${RESULTS}1.03 (0.99–1.05)`,
    '102 %': `${RESULTS}1.02 (0.97–1.02)`,
    '74 %': `${RESULTS}0.74 (0.74–0.75)`,
    '99 %': `${RESULTS}0.99 (0.99–1.00)`,
    '91 %': `${RESULTS}0.91 (0.81–0.92)`,
    '101 %': `${RESULTS}1.01 (1.00–1.01)`,
    '105 %': `${RESULTS}1.05 (0.94–1.05)`,
  },
  'docs/guides/scripts.md': { '60 s': lease.ttlMs },
  'docs/guides/segments.md': {
    '26 s': BUFFERED,
    '222,000 per second': FOR_ALL,
    '2 s': 'lib/stores/redis/redis-options.ts: RESTART_MS = 2000',
    '18 s': 'lib/stores/redis/redis-locks.ts: 18,000 for Sentinel and Cluster',
  },
  'docs/guides/sql.md': {
    '5 ms': POLL,
    '1 s': 'lib/lock/lock-attempt.ts: POLL_MS_MAX = 1000',
    '2 s': 'lib/lock/releases.ts: LINGER_MS = 2000',
    '17 s': our.firstStartMs + our.lossMs,
    '10 s': lease.refreshAliveIntervalMs,
  },
  'docs/guides/threads.md': { '4096 per ms': our.perMs(layouts.snowflake()) },
  'docs/guides/which-store.md': {
    '1 s': our.firstStartMs,
    '17 s': our.firstStartMs + our.lossMs,
    '2 s': our.firstStartMs + HEADER_AGE_MS,
    '3 s': our.etcdFirstStartMs,
    '1.4 s': `${RESULTS}| Redis      | 1395`,
    '3.2 s': `${RESULTS}| PostgreSQL | 3183`,
    '3.3 s': `${RESULTS}| MariaDB    | 3306`,
    '4.6 s': `${RESULTS}| etcd       | 4615`,
  },
  'docs/guides/which-lock.md': {
    '1 s': 'bench/lock/semaphores.mjs: [PERMITS, TTL_MS, WAIT_MS] = [3, 1000,',
  },
  'docs/guides/writing-a-support.md': {
    '1 s': our.releaseMs,
    '5 s': 'lib/rows/store-clock.ts: const STEP_MS = 5000',
  },
  'docs/reference/keys.md': { '0.5 MB': SIZE, '470 bytes': SIZE, '60 s': KEPT_MS },
  'docs/reference/options.md': {
    '20 %': 'lib/nest/refresh-alive.job.ts: SPREAD = 0.2;',
    '5 min': LEAST_HOLD,
  },
};

const INTERNALS: Sources = {
  'docs/internals/architecture.md': {
    '2 s': 'lib/time/timers.ts: const LAST_MS = 2000',
    '5 s': 'lib/stores/sql/sql-connection.ts: export const STATEMENT_MS_MAX = 5000',
    '30 s': 'lib/lease/lease-options.ts: startTimeoutMs: 30_000',
    '60 s': 'lib/counters/counter-client.ts: const WAIT_MS_MAX = 60_000',
    '0.5 s': 'lib/rows/cas-retry.ts: const PAUSE_MS_MAX = 500',
    '1 s': 'lib/stores/etcd/etcd-options.ts: requestTimeoutMs = 1000',
    '10 s': 'lib/stores/redis/client-life.ts: export const SILENCE_MS = 10_000',
  },
};

export const SOURCES: Sources = { ...GUIDES, ...OPERATING, ...INTERNALS };

/** By page, by figure: whose it is. What was aimed at, and how long a recorded run took, too. */
export const NOT_OURS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'README.md': { '5 ms': 'Leaf' },
  'docs/concepts/choosing.md': { '5 ms': 'Leaf' },
  'docs/concepts/layout.md': {
    '90 %': 'an example',
    '98 %': 'an example',
    '99 %': 'an example',
    '99.9 %': 'an example',
  },
  'docs/guides/etcd.md': { '2 s': 'the election timeout of etcd' },
  'docs/guides/ids-in-json.md': { '100 kB': 'the body parser of Express' },
  'docs/internals/architecture.md': {
    '0.1 s': 'test/stores/who-asks-again.spec.ts reads it there',
    '1.5 s': 'test/lease/who-asks-again.spec.ts measures it',
    '16 s': 'test/lease/who-asks-again.spec.ts reads it there',
    '58 s': 'test/lease/who-asks-again.spec.ts reads it there',
  },
  'docs/internals/performance.md': { '15 ns': 'a target', '99 %': 'a target', '1 %': 'a target' },
  'docs/internals/proof.md': {
    '5 s': 'lib/rows/store-clock.ts: const STEP_MS = 5000',
    '20 s': 'a run that its row names',
    '0.3 s': 'a run that its row names',
    '0.9 s': 'a run that its row names',
    '5 ms': 'a run that its row names',
    '40 ms': 'a run that its row names',
    '60 ms': 'a run that its row names',
    '1 s': 'a run that its row names',
    '55 s': 'a run that its row names',
    '60 s': 'a run that its row names',
    '15 s': 'runs of the control',
    '30 s': 'runs of the control',
    '50 s': 'runs of the control',
    ...Object.fromEntries(
      ['34.2', '0.4', '0.1', '151.8', '154.5', '2.4', '2.6', '1.1', '4.6'].map((size) => [
        `${size} MiB`,
        'the soak that its section tells of',
      ]),
    ),
  },
  'docs/internals/track-record.md': { '100 ms': 'hutool', '2 s': 'hutool' },
  'docs/operating/other-platforms.md': { '1.6 s': 'PM2' },
};

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)?.text ?? '';

export const nameOf = ({ number, unit }: Omit<Figure, 'path'>): string => `${number} ${unit}`;

/** Whether the words are in their file, and have the figure. */
function isQuoted(figure: Figure, source: string): boolean {
  const [, path = '', words = ''] = /^(\S+): (.*)$/.exec(source) ?? [];
  const numbers = (words.match(/\d[\d_,]*(?:\.\d+)?/g) ?? []).map(numberOf);
  const isIn = (value: number) =>
    isShownAs(value, figure) || isShownAs(value, { ...figure, unit: '' });
  return textOf(path).includes(words) && numbers.some(isIn);
}

/** Whether it has a source, which the tables above give. */
export function isFounded(
  figure: Figure,
  source: number | string | undefined = SOURCES[figure.path]?.[nameOf(figure)],
): boolean {
  if (typeof source === 'number') return isShownAs(source, figure);
  if (typeof source === 'string') return isQuoted(figure, source);
  return NOT_OURS[figure.path]?.[nameOf(figure)] !== undefined;
}
