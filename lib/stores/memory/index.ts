/**
 * Worker IDs, counters and locks in memory, and the rows behind them.
 */
export { MemoryRows } from './memory-rows.js';
export { MemorySupport, type MemorySupportOptions } from './memory.support.js';
export { MemoryCounters, type MemoryCountersOptions } from './memory-counters.js';
export { MemoryLocks, type MemoryLocksOptions } from './memory-locks.js';
