/**
 * Stores whose clock and losses are in the hands of a test: the registry in memory (as it is, or a
 * mutant of it), and the Lua scripts on a real Redis.
 */
import type { Redis } from 'ioredis';
import { workerRecords, leaseAnswer } from '../../lib/backends/redis/redis-answer.js';
import type { RegistryState } from '../../lib/backends/memory/index.js';
import type { MemoryRegistry } from '../../lib/backends/memory/index.js';
import type { IDistributedSupport, LeaseAnswer } from '../../lib/lease/distributed-support.js';
import { SettableTime, type BenchParts, type StoreCall } from '../../lib/testing/index.js';
import { TIMED_LUA, timedArguments } from '../backends/timed-scripts.js';

type Store = Omit<BenchParts, 'expect'>;

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

/** The scripts as the library runs them, but for time and server. */
export function redisStore(redis: () => Redis): Store {
  const readings = new Readings();
  const keyOf = (name: string) => `contract:{${name}}`;
  const run = async (name: string, call: StoreCall): Promise<LeaseAnswer> => {
    const given = timedArguments(call, readings.of(name));
    return leaseAnswer((await redis().eval(TIMED_LUA[call.op], 1, keyOf(name), ...given)) as []);
  };
  return {
    clockControl: readings.control,
    createSupport: (name): IDistributedSupport => ({
      lossWindowMs: LOSS_WINDOW_MS,
      getNextWorkId: (request) => run(name, { op: 'acquire', request }),
      refreshAlive: (lease) => run(name, { op: 'renew', lease }),
      async release(lease, lastIssuedMs) {
        const call = { op: 'release', lease, lastIssuedMs } as const;
        const given = timedArguments(call, readings.of(name));
        await redis().eval(TIMED_LUA.release, 1, keyOf(name), ...given);
      },
      async workers() {
        const fields = Object.entries(await redis().hgetall(keyOf(name))).flat();
        return workerRecords([readings.clock.now(), ...fields]);
      },
    }),
    lossControl: {
      wipe: async (name) => void (await redis().del(keyOf(name))),
      restart: (name) => readings.changeServer(name),
      remember: (name) => copy(redis(), keyOf(name), `${keyOf(name)}:kept`),
      async restore(name) {
        await copy(redis(), `${keyOf(name)}:kept`, keyOf(name));
        readings.changeServer(name);
      },
    },
  };
}

/** A key that is not there is copied by not being there. */
async function copy(redis: Redis, from: string, to: string): Promise<void> {
  await redis.del(to);
  await redis.copy(from, to);
}
