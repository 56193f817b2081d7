/**
 * The memory support and the reference registry behind it.
 */
export { MemoryRegistry } from './memory-registry.js';
export { MemorySupport } from './memory.support.js';
export type { MemorySupportOptions } from './memory.support.js';
export type { RegistryOwner, RegistryState, StoreReading } from './registry-state.js';
