/**
 * The memory support and the registry behind it.
 */
export { MemoryRegistry } from './memory-registry.js';
export type { RegistryState } from './memory-registry.js';
export { MemorySupport } from './memory.support.js';
export type { MemorySupportOptions } from './memory.support.js';
