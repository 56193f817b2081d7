/** The registry in memory keeps the contract, bare and as the support that applications use. */
import { describe, expect, it } from '@jest/globals';
import { MemoryRegistry, MemorySupport } from '../../lib/stores/memory/index.js';
import { describeDistributedSupport, SettableTime } from '../../lib/testing/index.js';
import { memoryStore } from './settable-stores.js';

describe('MemoryRegistry', () => {
  describeDistributedSupport({ test: it, expect, ...memoryStore(MemoryRegistry) });
});

describe('MemorySupport', () => {
  const clock = new SettableTime();
  const registries = new Map<string, MemoryRegistry>();
  describeDistributedSupport({
    test: it,
    expect,
    createSupport(name) {
      const registry = registries.get(name) ?? new MemoryRegistry();
      registries.set(name, registry);
      return new MemorySupport({ registry, clock });
    },
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    leaveOut: ['losses', 'version'],
  });
});

describe('a suite without a control', () => {
  it('says so before any test runs, unless what needs it is left out', () => {
    const { createSupport } = memoryStore(MemoryRegistry);
    const describeIt = (leaveOut: ('clock' | 'losses' | 'version')[]) => () =>
      describeDistributedSupport({ test: () => undefined, expect, createSupport, leaveOut });
    expect(describeIt([])).toThrow('Expected `clockControl`, got nothing.');
    expect(describeIt(['clock'])).toThrow("say with `leaveOut: ['losses']`");
    expect(describeIt(['clock', 'losses'])).toThrow('Expected `versionControl`, got nothing.');
    expect(describeIt(['clock', 'losses', 'version'])).not.toThrow();
  });
});
