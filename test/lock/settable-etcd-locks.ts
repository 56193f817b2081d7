/**
 * Locks in an etcd that is real, through a gateway in which leases go by the time of the test: it
 * asks for long ones, and ends each when its time is over. Its clock and its cluster are in the
 * hands of the test as well.
 */
import { randomUUID } from 'node:crypto';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import type { LockStore } from '../../lib/lock/lock-store.js';
import { EtcdKeys } from '../stores/etcd-keys.js';
import { etcdProxy, type EtcdProxy, type Passed, type ProxyCall } from '../stores/etcd-proxy.js';
import { LOSS_WINDOW_MS } from '../stores/store-readings.js';
import type { LockBenchStore } from './settable-locks.js';

const LONG_S = '100000';
/** Of the year 2026. */
const START_MS = 1_790_000_000_000;

interface Place {
  readonly keys: EtcdKeys;
  readonly proxy: Promise<EtcdProxy>;
  serverCount: number;
  kept: Map<string, string>;
}

export interface SettableEtcdLocks extends LockBenchStore {
  /** Closes what was opened since it was called last. */
  end(): Promise<void>;
}

/** When each lease ends, by a clock that never goes back. */
class SettableLeases {
  steadyMs = 0;
  private readonly ends = new Map<string, number>();

  granted(id: string, seconds: number): void {
    this.ends.set(id, this.steadyMs + seconds * 1000);
  }

  /** As etcd tells it, but for the milliseconds. */
  leftText(id: string): string {
    const leftMs = (this.ends.get(id) ?? -Infinity) - this.steadyMs;
    return leftMs > 0 ? (leftMs / 1000).toFixed(3) : '-1';
  }

  over(): string[] {
    const ended = [...this.ends].filter(([, endMs]) => endMs <= this.steadyMs).map(([id]) => id);
    for (const id of ended) this.ends.delete(id);
    return ended;
  }
}

/** @param etcd the endpoint of a member @param make the locks as they are, or a mutant of them */
export function settableEtcdLocks(etcd: () => string, make = etcdLocks): SettableEtcdLocks {
  const time = { wallMs: START_MS };
  const leases = new SettableLeases();
  const places = new Map<string, Place>();
  const opened: LockStore[] = [];
  const placeOf = (name: string): Place => {
    const known = places.get(name);
    if (known !== undefined) return known;
    const keys = new EtcdKeys(etcd(), `${name}-${randomUUID()}`);
    const location: Place = { keys, proxy: undefined!, serverCount: 0, kept: new Map() };
    const proxy = etcdProxy(etcd(), async (call) =>
      disguised(await withLeases(call, leases), time.wallMs, location),
    );
    const whole = Object.assign(location, { proxy });
    places.set(name, whole);
    return whole;
  };
  return {
    clockControl: {
      now: () => time.wallMs,
      async advance(ms) {
        time.wallMs += ms;
        leases.steadyMs += Math.max(0, ms);
        const keys = new EtcdKeys(etcd(), 'none');
        for (const ID of leases.over()) await keys.ask('lease/revoke', { ID }).catch(wasRevoked);
      },
    },
    async createStore(name) {
      const { keys, proxy } = placeOf(name);
      const { endpoint } = await proxy;
      const store = make({
        endpoints: [endpoint],
        namespace: keys.namespace,
        failoverWindowMs: LOSS_WINDOW_MS,
        requestTimeoutMs: 60_000,
      });
      opened.push(store);
      return store;
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
      await Promise.all(opened.splice(0).map((store) => store.close!()));
      const proxies = [...places.values()].map(({ proxy }) => proxy);
      places.clear();
      await Promise.all(proxies.map(async (proxy) => (await proxy).close()));
    },
  };
}

/** Those that the store has given up are gone already. */
function wasRevoked(error: unknown): void {
  if (!String(error).includes('lease not found')) throw error;
}

async function withLeases({ path, body, pass }: ProxyCall, leases: SettableLeases) {
  if (path === 'lease/grant') {
    const { TTL } = JSON.parse(body) as { TTL: string };
    const passed = await pass(JSON.stringify({ TTL: LONG_S }));
    leases.granted((JSON.parse(passed.body) as { ID: string }).ID, Number(TTL));
    return { ...passed, body: passed.body.replace(`"TTL":"${LONG_S}"`, `"TTL":"${TTL}"`) };
  }
  const passed = await pass();
  if (path !== 'lease/timetolive') return passed;
  const { ID } = JSON.parse(body) as { ID: string };
  return {
    ...passed,
    body: passed.body.replace(/"TTL":"-?\d+"/, `"TTL":"${leases.leftText(ID)}"`),
  };
}

/** What etcd said, at another time and from another cluster. */
function disguised(passed: Passed, wallMs: number, { serverCount }: Place): Passed {
  const date = new Date(wallMs).toUTCString();
  const clusterId = `"cluster_id":"${1000 + serverCount}"`;
  const body = passed.body.replaceAll(/"cluster_id":"\d+"/g, clusterId);
  return { ...passed, headers: { ...passed.headers, date }, body };
}
