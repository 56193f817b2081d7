/**
 * The memory support and the registry behind it, counters and locks in memory.
 */
export {
  MemoryRegistry,
  MemorySupport,
  type RegistryState,
  type MemorySupportOptions,
} from './memory.support.js';
export { MemoryCounters, type MemoryCountersOptions } from './memory-counters.js';
export { MemoryLocks, type MemoryLocksOptions } from './memory-locks.js';
