/**
 * Where the figures of README, start, concepts, guides and reference come from.
 */
import { layouts } from 'nestjs-snowflake/core';
import { LINE_MS_MAX } from '../../../lib/stores/etcd/http-request.js';
import { FUTURE_MS_MAX } from '../../../lib/http/check-id.js';
import { HEADER_AGE_MS } from '../../../lib/registry/stored-snapshot.js';
import { KEPT_MS } from '../../../lib/lock/lock-snapshot.js';
import * as our from './constants.js';
import { type Sources, tableUnder, WAITING } from './figure.js';

const { lease } = our;
const LAST_YEARS = 'lib/core/layout/bit-layout.ts: WARNING_MS = 5 * 365.25';
const LOCKS = 'lib/lock/lock-options.ts: { ttlMs: 10_000, callTimeoutMs: 2000, drainMs: 10_000 }';
const SIZE =
  'test/stores/registry-agreement.spec.ts: takes about 0.4 MB for 1024 holders, 350 bytes';
const BUFFERED = 'test/segments/several-stores.spec.ts: toBeGreaterThanOrEqual(26_000)';
const FOR_ALL = 'test/segments/segment-keeper.spec.ts: 222,000';
const RESULTS = 'bench/RESULTS.md: ';
const WAITED = Object.fromEntries(
  tableUnder(WAITING)
    .slice(1)
    .flatMap(([, ...cells]) => cells.slice(0, 2).map((ms) => [`${ms} ms`, Number(ms)])),
);

export const GUIDES: Sources = {
  'README.md': {
    '45 ns': our.measuredIdMs('**nestjs-snowflake**'),
    '40 ns': our.measuredPartMs('Date.now() alone'),
    '7.23 ns': our.measuredBatchMs('nextIds(1000)'),
    '45.0 ns': our.measuredIdMs('**nestjs-snowflake**'),
    '96.6 ns': our.measuredIdMs('@sapphire/snowflake'),
    '106 ns': our.measuredIdMs('crypto.randomUUID'),
    '113 ns': our.measuredIdMs('nodejs-snowflake'),
    '1437 ns': our.measuredIdMs('uuid v7'),
    '60 s': lease.ttlMs,
    '15 s': our.failoverMs,
    '1 s': our.differenceMs,
    '5 s': lease.maxDriftMs,
    '4096 per ms': our.perMs(layouts.snowflake()),
    '56 %': `${RESULTS}56 % twice`,
    '8 minutes': 'CONTRIBUTING.md: takes about 8 minutes',
  },
  'docs/start.md': { '60 s': lease.ttlMs, '17 s': our.firstStartMs + our.lossMs },
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
    '20 s': 'test/docs/pictures/stories.ts: a.backMs = 20_000',
  },
  'docs/guides/coming-from.md': { '1 s': our.aheadMs },
  'docs/guides/etcd.md': {
    '20 s': LINE_MS_MAX,
    '1 s': our.etcdDifferenceMs,
    '2 GiB': 'lib/stores/etcd/etcd-members.ts: etcd allows 2 GiB by default',
  },
  'docs/guides/ids-at-the-edge.md': {
    '15 minutes': FUTURE_MS_MAX,
    '10 minutes': 'lib/lease/lease-options.ts: ttlMs: [10_000, 600_000]',
    '1 s': 'lib/http/snowflake-error.filter.ts: Math.max(1, seconds || 1)',
  },
  'docs/guides/ids-in-json.md': { '12,800 per second': our.perSecond(layouts.javascriptSafe()) },
  'docs/guides/ids-in-redis.md': {
    '2 s': our.redisRestartMs,
    '18 s': our.redisFailoverMs,
    '100 ms': our.firstRetryMs,
    '1024 per ms': our.perMs(layouts.redisIdGenerator()),
  },
  'docs/guides/locks.md': {
    '10 s': LOCKS,
    '2 s': LOCKS,
    '50 ms': 'lib/lock/lock-attempt.ts: POLL_MS = 50',
    '1 s': 'lib/lock/holdings.ts: polling: 1000',
    '25 ms': 'lib/lock/holdings.ts: notified: 25',
    '500 ms': 'lib/lock/holdings.ts: STREAK_MS = 500',
    '20 ms': 'bench/lock/waiting.mjs: holdMs: 20, restMs: 100',
    '100 ms': 'bench/lock/waiting.mjs: holdMs: 20, restMs: 100',
    '700 ms': 'bench/lock/waiting.mjs: holdMs: 700',
    '60 s': 'bench/lock/waiting.mjs: forMs: 60_000',
    ...WAITED,
  },
  'docs/guides/one-cron-job.md': {
    '12 s': 10_000 + our.redisRestartMs,
    '10 s': LOCKS,
    '5 s': 'sample-app/src/locks/shop-locks.module.ts: ttlMs: 5000',
    '9 s': 'docs/guides/one-cron-job.md: waitMs: 9000',
    '60 s': 'docs/guides/one-cron-job.md: holdAtLeastMs: 60_000',
  },
  'docs/guides/redis.md': {
    '2 s': lease.callTimeoutMs,
    '0.4 MB': SIZE,
    '15 s': our.failoverMs,
    '18 s': our.redisFailoverMs,
  },
  'docs/guides/scripts.md': { '60 s': lease.ttlMs },
  'docs/guides/segments.md': {
    '26 s': BUFFERED,
    '222,000 per second': FOR_ALL,
    '2 s': 'lib/stores/redis/redis-options.ts: RESTART_MS = 2000',
    '18 s': 'lib/stores/redis/redis-locks.ts: 18,000 for Sentinel and Cluster',
  },
  'docs/guides/sql.md': {
    '50 ms': 'lib/lock/lock-attempt.ts: POLL_MS = 50',
    '1 s': 'lib/lock/lock-attempt.ts: POLL_MS_MAX = 1000',
    '2 s': 'lib/lock/releases.ts: LINGER_MS = 2000',
    '17 s': our.firstStartMs + our.lossMs,
    '10 s': lease.refreshAliveIntervalMs,
  },
  'docs/guides/static.md': { '10 ms': our.longestWaitMs, '1 s': layouts.baidu().unitMs },
  'docs/guides/threads.md': { '4096 per ms': our.perMs(layouts.snowflake()) },
  'docs/guides/which-store.md': {
    '1 s': our.firstStartMs,
    '17 s': our.firstStartMs + our.lossMs,
    '2 s': our.firstStartMs + HEADER_AGE_MS,
    '3 s': our.etcdFirstStartMs,
    '2.5 s': `${RESULTS}| Redis      | 2504`,
    '7 s': `${RESULTS}| PostgreSQL | 6933`,
    '8.5 s': `${RESULTS}| MariaDB    | 8453`,
    '30 s': `${RESULTS}not all: 1023 in 30 s`,
  },
  'docs/guides/writing-a-support.md': { '1 s': our.releaseMs },
  'docs/reference/keys.md': { '0.4 MB': SIZE, '350 bytes': SIZE, '60 s': KEPT_MS },
  'docs/reference/options.md': { '20 %': 'lib/nest/refresh-alive.job.ts: SPREAD = 0.2;' },
};
