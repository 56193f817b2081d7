/**
 * Doors that the checks of doors.ts find and that are not shut yet. Every entry is a debt: nobody
 * may add one, and one that is shut fails the test until it is taken off.
 */
import type { OpenDoor } from './doors.js';

export const INSTANCES: readonly OpenDoor[] = [
  { path: 'lib/dashboard/shown-generators.ts', names: 'IdMaker' },
  { path: 'lib/nest/lifecycle.ts', names: 'JoinedLease' },
  { path: 'lib/nest/options.ts', names: 'BitLayout' },
  { path: 'lib/nest/options.ts', names: 'JoinedSupport' },
  { path: 'lib/nest/options.ts', names: 'StaticSupport' },
  { path: 'lib/nest/providers.ts', names: 'JoinedSupport' },
  { path: 'lib/orm/typeorm/hook-data-source.ts', names: 'SnowflakeSubscriber' },
];

export const MODULE_STATE: readonly OpenDoor[] = [
  { path: 'lib/lease/static.support.ts', names: '`inUse`' },
  { path: 'lib/lease/static.support.ts', names: '`floors`' },
  { path: 'lib/metrics/prometheus-metrics.ts', names: '`readersOf`' },
  { path: 'lib/nest/current-id-makers.ts', names: '`running`' },
  { path: 'lib/nest/integrations.ts', names: '`integrations`' },
  { path: 'lib/orm/typeorm/snowflake-columns.ts', names: '`decorated`' },
  { path: 'lib/orm/typeorm/snowflake-columns.ts', names: '`found`' },
  { path: 'lib/testing/describe-distributed-support.ts', names: '`registryCount`' },
];

export const SWALLOWED: readonly OpenDoor[] = [
  { path: 'lib/backends/redis/redis.support.ts', names: '.catch(() => ...)' },
];

/** A fifth parameter, hidden in a tuple. */
export const LONG: readonly OpenDoor[] = [
  { path: 'lib/nest/providers.ts', names: 'takes 5 parameters' },
];
