/**
 * The memory support and the registry behind it, counters and locks in memory.
 */
export { MemoryRegistry, MemorySupport } from './memory.support.js';
export type { RegistryState, MemorySupportOptions } from './memory.support.js';
export { MemoryCounters } from './memory-counters.js';
export type { MemoryCountersOptions } from './memory-counters.js';
export { MemoryLocks } from './memory-locks.js';
export type { MemoryLocksOptions } from './memory-locks.js';
