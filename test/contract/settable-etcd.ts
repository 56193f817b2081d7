/**
 * The etcd support with all that it sends, on an etcd that is real, through a gateway whose clock
 * and whose cluster are in the hands of the test.
 */
import { randomUUID } from 'node:crypto';
import { etcdSupport } from '../../lib/stores/etcd/index.js';
import type { RegistrySupport } from '../../lib/registry/registry-support.js';
import { SettableTime, type HarnessParts } from '../../lib/testing/index.js';
import { EtcdKeys } from '../stores/etcd-lab.js';
import { etcdProxy, type EtcdProxy, type Passed } from '../stores/etcd-proxy.js';

const LOSS_WINDOW_MS = 5000;

/** One registry, and the gateway through which it is seen. */
interface Place {
  readonly keys: EtcdKeys;
  readonly proxy: Promise<EtcdProxy>;
  serverCount: number;
  kept: Map<string, string>;
}

export interface SettableEtcd extends Omit<HarnessParts, 'expect'> {
  /** Closes what was opened since it was called last. */
  end(): Promise<void>;
}

/** @param etcd the endpoint of a member */
export function settableEtcd(etcd: () => string): SettableEtcd {
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
