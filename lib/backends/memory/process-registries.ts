/**
 * The registries of this process: one for each namespace, whoever asks for it.
 *
 * Promise: two supports of one namespace cannot lease the same worker id, also where two copies of
 * this package are loaded. Only a registry that begins here, with the process, is known to be new.
 */
import { systemClock, type Clock } from '../../core/clock.js';
import { processWide } from '../../process-wide.js';
import { newHeader } from '../../registry/opening.js';
import type { StoreReading } from '../../registry/slice.js';
import { MemoryRegistry, stateOf } from './memory-registry.js';

interface ProcessRegistries {
  /** A clock of its own is another time, in which the registries of this one mean nothing. */
  readonly byClock: WeakMap<object, Map<string, MemoryRegistry>>;
  readonly begun: WeakSet<MemoryRegistry>;
  /** Stands for the clock of the host. */
  readonly hostClock: object;
}

const ofProcess = (): ProcessRegistries =>
  processWide('memory-registries', () => ({
    byClock: new WeakMap(),
    begun: new WeakSet(),
    hostClock: {},
  }));

/** Another copy of the package has another object for the same clock. */
export function isHosts(clock: Clock): boolean {
  return clock.now === systemClock.now;
}

export function sharedRegistry(namespace: string, clock: Clock | undefined): MemoryRegistry {
  const { byClock, hostClock } = ofProcess();
  const key = clock === undefined || isHosts(clock) ? hostClock : clock;
  const registries = byClock.get(key) ?? new Map<string, MemoryRegistry>();
  byClock.set(key, registries);
  const registry = registries.get(namespace) ?? new MemoryRegistry();
  registries.set(namespace, registry);
  return registry;
}

/** Begins a registry that was never used; one that lost what it knew is not taken for new. */
export function begun(registry: MemoryRegistry, reading: StoreReading): MemoryRegistry {
  const { begun: known } = ofProcess();
  if (!known.has(registry)) registry.state ??= stateOf(newHeader(reading));
  known.add(registry);
  return registry;
}
