/**
 * etcd keeps the contract: the support as applications use it, once with the time and the cluster
 * in the hands of the test, once by etcd's own clock, where that is enough.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { supportFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import type { RegistrySupport } from '../../lib/registry/registry-support.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { endpointOf } from '../stores/etcd-lab.js';
import { settableEtcd } from './settable-etcd.js';

describe('the etcd support, told the time by the test', () => {
  const store = settableEtcd(() => endpointOf(process.env['ETCD_URL']!));
  afterEach(() => store.end());

  describeDistributedSupport({ test: it, expect, ...store });
});

describe('the etcd support', () => {
  const run = randomUUID();
  const opened: RegistrySupport[] = [];
  afterAll(async () => {
    await Promise.all(opened.splice(0).map((support) => support.close()));
  });

  describeDistributedSupport({
    // Each waits for a quarantine by a real clock: a few at once, each in a registry of its own.
    test: it.concurrent,
    expect,
    createSupport(name) {
      // One member has one clock.
      const settings = `namespace=${name}-${run}&requestTimeoutMs=60000&clockDifferenceMs=0`;
      const url = `${process.env['ETCD_URL']!}?${settings}`;
      const support = supportFromUrl(url);
      opened.push(support);
      return support;
    },
    leaveOut: ['clock', 'losses', 'version'],
  });
});
