/**
 * A process that is shut down while a section runs under a lock, and that has nothing else to do
 * once this has ended, or is waited for no longer: it has to end by itself.
 */
import { writeSync } from 'node:fs';
import { DistributedLock } from './lib/lock/distributed-lock.js';
import { locksOf } from './lib/stores/schemes.js';

const { url, ttlMs, isEnded } = JSON.parse(process.env.LATE_END);
const locks = new DistributedLock(await locksOf(url), { ttlMs, drainMs: 0 });
// A new store grants nothing for a while.
const held = await locks.tryAcquire('late', { waitMs: 600_000 });
await locks.close();
if (isEnded) await held.release();
writeSync(1, 'closed');
