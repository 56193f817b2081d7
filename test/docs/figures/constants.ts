/**
 * The defaults, bounds and layouts of the library that documents tell, in ms, bytes or parts of the
 * whole, and what follows from them.
 */
import { layouts, type BitLayout } from 'nestjs-snowflake/core';
import { RESOLUTION_MS } from '../../../lib/stores/etcd/etcd-store.js';
import { SILENCE_MS } from '../../../lib/stores/redis/client-life.js';
import { LEASE_DEFAULTS, minRangeMsOf } from '../../../lib/lease/lease-options.js';
import { readTree } from '../../tidy/tree.js';
import { numberOf, ALONE, APART, MANY, nsOf, ONE_ID } from './figure.js';

const TREE = readTree();

/** One that its file keeps for itself. */
function constant(path: string, name: string): number {
  const { text } = TREE.find((file) => file.path === path)!;
  const [, digits] = new RegExp(`\\b${name} = ([\\d_.]+)`).exec(text)!;
  return numberOf(digits!);
}

export const lease = LEASE_DEFAULTS;
export const latestRenewalMs =
  lease.refreshAliveIntervalMs * (1 + constant('lib/nest/refresh-alive.job.ts', 'SPREAD'));

/** How long a Redis with replicas, or a database with a standby, may lose writes. */
const REDIS = 'lib/stores/redis/redis.support.ts';
export const failoverMs = constant(REDIS, 'FAILOVER_WINDOW_MS');
export const differenceMs = constant(REDIS, 'CLOCK_DIFFERENCE_MS');
export const lossMs = failoverMs + differenceMs;

const ETCD = 'lib/stores/etcd/etcd-options.ts';
export const etcdDifferenceMs = constant(ETCD, 'clockDifferenceMs');

/** How long the first start on a new registry takes: a second, and two units of the layout. */
export const secondOfIdsMs = minRangeMsOf(0);
export const firstStartMs = minRangeMsOf(layouts.snowflake().unitMs);
export const slowestFirstStartMs = minRangeMsOf(layouts.baidu().unitMs);
export const etcdFirstStartMs = firstStartMs + etcdDifferenceMs + RESOLUTION_MS;

/** How long locks and ids made in Redis wait after a loss. */
const HASH = 'lib/stores/redis/redis-options.ts';
export const redisRestartMs = constant(HASH, 'RESTART_MS');
export const redisFailoverMs = redisRestartMs + constant(HASH, 'FAILOVER_MS');

export const silenceMs = SILENCE_MS;
export const firstRetryMs = constant('lib/time/timers.ts', 'FIRST_MS');
export const lastRetryMs = constant('lib/time/timers.ts', 'LAST_MS');
export const releaseMs = constant('lib/lease/lease-acquirer.ts', 'RELEASE_TIMEOUT_MS');
export const drawAgainMs = constant('lib/lease/lease-acquirer.ts', 'WAIT_MS_MAX');
export const aheadMs = constant('lib/core/generator/block-taker.ts', 'AHEAD_MS_MAX_DEFAULT');
export const longestWaitMs = constant('lib/core/generator/block-taker.ts', 'WAIT_UNIT_MS_MAX');

export const perSecond = ({ sequence, unitMs }: BitLayout): number =>
  ((sequence.max + 1) * 1000) / unitMs;
export const perMs = (layout: BitLayout): number => perSecond(layout) / 1000;

/** As bench/RESULTS.md has them, ms. */
const measured = (heading: string, name: string): number => nsOf(heading, name) / 1e6;
export const measuredIdMs = (library: string): number => measured(ONE_ID, library);
export const measuredBatchMs = (how: string): number =>
  measured(MANY, `**nestjs-snowflake ${how}**`);
export const measuredPartMs = (what: string): number => measured(ALONE, what);
export const measuredDateMs = measured(APART, 'new Date(ms) alone, a part of parse()');
