/**
 * etcd keeps the contract: the support as applications use it, once with the time and the cluster
 * in the hands of the test, once by etcd's own clock, where that is enough.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import type { RegistrySupport } from '../../lib/registry/registry-support.js';
import { supportFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import { etcdSupport } from '../../lib/stores/etcd/index.js';
import { describeDistributedSupport } from '../../lib/testing/index.js';
import { endpointOf, type EtcdKeys, settableEtcd } from '../stores/etcd-lab.js';
import { LOSS_WINDOW_MS } from '../stores/timed-redis.js';

async function setVersion(keys: EtcdKeys, version: string): Promise<void> {
  const value = (await keys.all()).get('header')!;
  const [server, text = ''] = value.split('\n');
  const header = JSON.stringify({ ...(JSON.parse(text) as object), version });
  await keys.put('header', `${server}\n${header}`);
}

describe('the etcd support, told the time by the test', () => {
  const { clockControl, lossControl, keysOf, made, end } = settableEtcd<RegistrySupport>(() =>
    endpointOf(process.env['ETCD_URL']!),
  );
  afterEach(end);

  describeDistributedSupport({
    test: it,
    expect,
    clockControl,
    lossControl,
    createSupport: (name) =>
      made(name, (options) => etcdSupport({ ...options, clockDifferenceMs: LOSS_WINDOW_MS })),
    versionControl: {
      raise: (name) => setVersion(keysOf(name), '2'),
      lower: (name) => setVersion(keysOf(name), '1'),
    },
  });
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
