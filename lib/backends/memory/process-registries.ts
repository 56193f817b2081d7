/**
 * The registries of this process: one for each namespace, whoever asks for it.
 *
 * Promise: two supports of one namespace cannot lease the same worker id, also where two copies of
 * this package are loaded. Only a registry that begins here, with the process, is known to be new.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { MemoryRegistry } from './memory-registry.js';
import { emptyState, type StoreReading } from './registry-state.js';

interface ProcessRegistries {
  /** A clock of its own is another time, in which the registries of this one mean nothing. */
  readonly byClock: WeakMap<object, Map<string, MemoryRegistry>>;
  readonly begun: WeakSet<MemoryRegistry>;
  /** Stands for the clock of the host. */
  readonly hostClock: object;
}

const REGISTRIES = Symbol.for('nestjs-snowflake:memory-registries');

function ofProcess(): ProcessRegistries {
  const process = globalThis as { [REGISTRIES]?: ProcessRegistries };
  return (process[REGISTRIES] ??= {
    byClock: new WeakMap(),
    begun: new WeakSet(),
    hostClock: {},
  });
}

export function sharedRegistry(namespace: string, clock: Clock | undefined): MemoryRegistry {
  const { byClock, hostClock } = ofProcess();
  // Another copy of the package has another object for the same clock.
  const isHosts = clock === undefined || clock.now === systemClock.now;
  const key = isHosts ? hostClock : clock;
  const registries = byClock.get(key) ?? new Map<string, MemoryRegistry>();
  byClock.set(key, registries);
  const registry = registries.get(namespace) ?? new MemoryRegistry();
  registries.set(namespace, registry);
  return registry;
}

/** Begins a registry that was never used; one that lost what it knew is not taken for new. */
export function begun(registry: MemoryRegistry, store: StoreReading): MemoryRegistry {
  const { begun: known } = ofProcess();
  if (!known.has(registry)) registry.state ??= emptyState(store);
  known.add(registry);
  return registry;
}
