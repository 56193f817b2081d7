/**
 * etcd keeps the contract: the support as applications use it, once with the time and the cluster
 * in the hands of the test, once by etcd's own clock, where that is enough.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import type { RegistrySupport } from '../../lib/registry/registry-support.js';
import { supportFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import { etcdSupport } from '../../lib/stores/etcd/index.js';
import { SettableTime, describeDistributedSupport } from '../../lib/testing/index.js';
import type { HarnessParts } from '../../lib/testing/index.js';
import { EtcdKeys, endpointOf } from '../stores/etcd-lab.js';
import { etcdProxy } from '../stores/etcd-proxy.js';
import type { EtcdProxy, Passed } from '../stores/etcd-proxy.js';

// The etcd support with all that it sends, on an etcd that is real, through a gateway whose clock
// and whose cluster are in the hands of the test.

const LOSS_WINDOW_MS = 5000;

/** One registry, and the gateway through which it is seen. */
interface Place {
  readonly keys: EtcdKeys;
  readonly proxy: Promise<EtcdProxy>;
  serverCount: number;
  kept: Map<string, string>;
}

interface SettableEtcd extends Omit<HarnessParts, 'expect'> {
  /** Closes what was opened since it was called last. */
  end(): Promise<void>;
}

/** @param etcd the endpoint of a member */
function settableEtcd(etcd: () => string): SettableEtcd {
  const clock = new SettableTime();
  const places = new Map<string, Place>();
  const opened: RegistrySupport[] = [];
  const placeOf = (name: string): Place => {
    const known = places.get(name);
    if (known !== undefined) return known;
    const keys = new EtcdKeys(etcd(), `${name}-${randomUUID()}`);
    const location: Place = { keys, proxy: undefined!, serverCount: 0, kept: new Map() };
    const proxy = etcdProxy(etcd(), async ({ pass }) => disguised(await pass(), clock, location));
    const whole = Object.assign(location, { proxy });
    places.set(name, whole);
    return whole;
  };
  return {
    clockControl: {
      now: () => clock.now(),
      advance: (ms) => void (clock.wallMs += ms),
    },
    async createSupport(name) {
      const { keys, proxy } = placeOf(name);
      const { namespace } = keys;
      const { endpoint } = await proxy;
      const support = etcdSupport({
        endpoints: [endpoint],
        namespace,
        clockDifferenceMs: LOSS_WINDOW_MS,
        requestTimeoutMs: 60_000,
      });
      opened.push(support);
      return support;
    },
    versionControl: {
      raise: (name) => setVersion(placeOf(name).keys, '2'),
      lower: (name) => setVersion(placeOf(name).keys, '1'),
    },
    lossControl: {
      wipe: (name) => placeOf(name).keys.deleteAll(),
      restart: (name) => void placeOf(name).serverCount++,
      async remember(name) {
        placeOf(name).kept = await placeOf(name).keys.all();
      },
      async restore(name) {
        const location = placeOf(name);
        await location.keys.deleteAll();
        for (const [key, value] of location.kept) await location.keys.put(key, value);
        location.serverCount++;
      },
    },
    async end() {
      await Promise.all(opened.splice(0).map((support) => support.close()));
      const proxies = [...places.values()].map(({ proxy }) => proxy);
      places.clear();
      await Promise.all(proxies.map(async (proxy) => (await proxy).close()));
    },
  };
}

/** What etcd said, at another time and from another cluster. */
function disguised(passed: Passed, clock: SettableTime, { serverCount }: Place): Passed {
  const ms = String(clock.now() % 1000).padStart(3, '0');
  const date = new Date(clock.now()).toUTCString().replace(' GMT', `.${ms} GMT`);
  const clusterId = `"cluster_id":"${1000 + serverCount}"`;
  const body = passed.body.replaceAll(/"cluster_id":"\d+"/g, clusterId);
  return { ...passed, headers: { ...passed.headers, date }, body };
}

async function setVersion(keys: EtcdKeys, version: string): Promise<void> {
  const value = (await keys.all()).get('header')!;
  const [server, text = ''] = value.split('\n');
  const header = JSON.stringify({ ...(JSON.parse(text) as object), version });
  await keys.put('header', `${server}\n${header}`);
}

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
