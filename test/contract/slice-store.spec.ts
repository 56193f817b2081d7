/**
 * A registry over rows keeps the contract, around the shortest store there is.
 */
import { describe, expect, it } from '@jest/globals';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { mapStore } from './settable-stores.js';

describe('RegistrySupport around a Map', () => {
  describeDistributedSupport({
    test: it,
    expect,
    ...mapStore((store) => new RegistrySupport(store)),
  });
});
