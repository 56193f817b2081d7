/**
 * Stores whose clock and losses are in the hands of a test: the registry in memory (as it is, or a
 * mutant of it), and the Redis support as it is, on a client that gives its scripts the time.
 */
import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { RedisSupport } from '../../lib/stores/redis/index.js';
import { SCRIPTS } from '../../lib/stores/redis/scripts.generated.js';
import type { MemoryRegistry, RegistryState } from '../../lib/stores/memory/index.js';
import type { IDistributedSupport } from '../../lib/lease/distributed-support.js';
import { SettableTime, type HarnessParts } from '../../lib/testing/index.js';
import { HEADER_KEY, type StoredRow } from '../../lib/rows/row-store.js';
import { MapStore } from '../registry/walk-store.js';
import { copied, timedClient, TIMED_LUA, withTime } from '../stores/timed-redis.js';

type Store = Omit<HarnessParts, 'expect'>;

const LOSS_WINDOW_MS = 5000;

/** What a store brings to each operation. */
class Readings {
  readonly clock = new SettableTime();
  private readonly servers = new Map<string, number>();
  private count = 0;

  of(registry: string) {
    const server = `server${this.servers.get(registry) ?? 0}`;
    const random = `text${++this.count}`;
    return { timeMs: this.clock.now(), server, random, lossWindowMs: LOSS_WINDOW_MS };
  }

  changeServer(registry: string): void {
    this.servers.set(registry, (this.servers.get(registry) ?? 0) + 1);
  }

  readonly control = {
    now: () => this.clock.now(),
    advance: (ms: number) => void (this.clock.wallMs += ms),
  };
}

/** The registry in memory, of whatever class: mutants have one of their own. */
export function memoryStore(Registry: new () => MemoryRegistry): Store {
  const readings = new Readings();
  const registries = new Map<string, MemoryRegistry>();
  const snapshots = new Map<string, RegistryState | undefined>();
  const registryOf = (name: string) => {
    if (!registries.has(name)) registries.set(name, new Registry());
    return registries.get(name)!;
  };
  return {
    clockControl: readings.control,
    createSupport: (name): IDistributedSupport => ({
      lossWindowMs: LOSS_WINDOW_MS,
      getNextWorkId: async (request) => registryOf(name).acquire(request, readings.of(name)),
      refreshAlive: async (lease) => registryOf(name).renew(lease, readings.of(name)),
      release: async (lease, lastMs) => registryOf(name).release(lease, lastMs, readings.of(name)),
      workers: async () => registryOf(name).workers(readings.clock.now()),
    }),
    versionControl: {
      raise: (name) => void (registryOf(name).state!.version = '2'),
      lower: (name) => void (registryOf(name).state!.version = '1'),
    },
    lossControl: {
      wipe: (name) => void (registryOf(name).state = undefined),
      restart: (name) => readings.changeServer(name),
      remember: (name) => void snapshots.set(name, structuredClone(registryOf(name).state)),
      restore(name) {
        registryOf(name).state = structuredClone(snapshots.get(name));
        readings.changeServer(name);
      },
    },
  };
}

/** Rows in a Map, under a support that a test makes of them. */
export function mapStore<T>(
  supportOf: (store: MapStore) => T,
): Omit<Store, 'createSupport'> & { createSupport: (name: string) => T } {
  const clock = new SettableTime();
  const stores = new Map<string, MapStore>();
  const kept = new Map<string, [string, StoredRow][]>();
  const storeOf = (name: string) => {
    const moment = {
      server: 'server0',
      get timeMs() {
        return clock.now();
      },
    };
    if (!stores.has(name)) stores.set(name, new MapStore(moment, LOSS_WINDOW_MS));
    return stores.get(name)!;
  };
  const changeServer = (name: string) => void (storeOf(name).moment.server += '+');
  const setVersion = (name: string, version: string) => {
    const header = storeOf(name).rows.get(HEADER_KEY)!;
    const text = JSON.stringify({ ...JSON.parse(header.text), version });
    storeOf(name).rows.set(HEADER_KEY, { ...header, text });
  };
  return {
    clockControl: { now: () => clock.now(), advance: (ms) => void (clock.wallMs += ms) },
    createSupport: (name) => supportOf(storeOf(name)),
    versionControl: {
      raise: (name) => setVersion(name, '2'),
      lower: (name) => setVersion(name, '1'),
    },
    lossControl: {
      wipe: (name) => storeOf(name).rows.clear(),
      restart: changeServer,
      remember: (name) => void kept.set(name, [...storeOf(name).rows]),
      restore(name) {
        const { rows } = storeOf(name);
        rows.clear();
        for (const [key, row] of kept.get(name) ?? []) rows.set(key, row);
        changeServer(name);
      },
    },
  };
}

/** The Redis support with all that it sends; `opened` is to be closed after each test. */
export function redisStore(redis: () => Redis, opened: RedisSupport[]): Store {
  const readings = new Readings();
  const prefix = `${randomUUID()}:`;
  const keyOf = (name: string) => `${prefix}{${name}}:registry`;
  return {
    clockControl: readings.control,
    createSupport(name) {
      const client = timedClient(redis(), TIMED_TEXTS, () => readings.of(name));
      const support = new RedisSupport({
        redis: client,
        namespace: name,
        prefix,
        failoverWindowMs: LOSS_WINDOW_MS,
      });
      opened.push(support);
      return support;
    },
    versionControl: {
      raise: async (name) => void (await redis().hset(keyOf(name), 'version', '2')),
      lower: async (name) => void (await redis().hset(keyOf(name), 'version', '1')),
    },
    lossControl: {
      wipe: async (name) => void (await redis().del(keyOf(name))),
      restart: (name) => readings.changeServer(name),
      remember: (name) => copied(redis(), keyOf(name), `${keyOf(name)}:kept`),
      async restore(name) {
        await copied(redis(), `${keyOf(name)}:kept`, keyOf(name));
        readings.changeServer(name);
      },
    },
  };
}

/** By the hash that the support knows: the text that is told time and server. */
const TIMED_TEXTS = new Map<string, string>([
  [SCRIPTS.acquire.sha1, TIMED_LUA.acquire],
  [SCRIPTS.renew.sha1, TIMED_LUA.renew],
  [SCRIPTS.release.sha1, TIMED_LUA.release],
  [SCRIPTS.workers.sha1, withTime(SCRIPTS.workers.lua)],
]);
