// Benchmarks of the lease against one real redis-server, started by us.
//
// Promise: figures are medians over the rounds with the least and the greatest behind them; a
// round in which anything went otherwise than meant throws instead of giving a figure.
import { idsInRedis } from './ids-in-redis.mjs';
import { renewals } from './renewals.mjs';
import { scriptTime } from './script-time.mjs';
import { startup } from './startup.mjs';
import { waiting } from './waiting.mjs';
import { wideRegistry } from './wide-registry.mjs';

/** @type {import('../harness/turns.mjs').BenchGroup[]} */
export const groups = [renewals, startup, scriptTime, waiting, wideRegistry, idsInRedis];
