/**
 * Clients of node-redis 5 and 6, the package `redis`: one Redis, Sentinel and Cluster.
 */
import { locate, madeBy, madeFor, optionsOfSentinel } from './node-redis-options.js';
import {
  type GivenOptions,
  isNodeRedis,
  kindOf,
  leaveMaster,
  type NodeRedis,
} from './node-redis-shape.js';
import {
  type ClientLibrary,
  type ClientListener,
  nextEvent,
  type RedisClient,
  type Sentinels,
  slotOf,
} from './redis-client.js';

/**
 * A minute of silence: a search that a Cluster client began by itself may never end, and blocks
 * others.
 */
const IN_VAIN_MAX = 6;

export const NODE_REDIS: ClientLibrary = {
  hasSentinel: true,
  isClient: isNodeRedis,
  locate: (client) => locate(client as NodeRedis),
  duplicate: (client) => new NodeRedisClient(...madeBy(client as NodeRedis)),
  build: (url, loaded) => new NodeRedisClient(...madeFor(url, loaded)),
};

/*
 * The library's own client, created by node-redis.
 */

export class NodeRedisClient implements RedisClient {
  readonly library = 'redis';
  readonly isTls: boolean;
  readonly #kind: ReturnType<typeof kindOf>;
  readonly #client: NodeRedis;
  readonly #options: GivenOptions;
  readonly #channels = new Set<string>();
  #hear: (channel: string) => void = () => undefined;
  #hasConnected = false;
  /** The number of dropped Cluster nodes since the last search for slots ended. */
  #lookedInVainCount = 0;

  constructor(client: NodeRedis, options: GivenOptions) {
    this.#client = client;
    this.#options = options;
    this.#kind = kindOf(client);
    const node = options.nodeClientOptions ?? options.defaults ?? options;
    this.isTls = Boolean(node.socket?.tls);
    // An unhandled error event would end the process; the next call reports the error.
    client.on('error', () => undefined);
  }

  get isReady(): boolean {
    return this.#client.isReady ?? this.#hasConnected;
  }

  async settle(): Promise<void> {
    if (this.#kind !== 'standalone') return this.#connect();
    // The client repeats its attempts by itself, and connect() ends with a successful one.
    const ended = nextEvent(this.#client, ['ready', 'error', 'end']);
    await (this.#client.isOpen ? ended : Promise.race([this.#connect(), ended]));
  }

  async #connect(): Promise<void> {
    this.#hasConnected = false;
    await this.#client.connect();
    this.#hasConnected = true;
  }

  call(command: readonly string[], key?: string): Promise<unknown> {
    if (this.#kind === 'standalone') return this.#client.sendCommand(command);
    if (this.#kind === 'sentinel') return this.#client.sendCommand(false, command);
    if (key !== undefined) return this.#client.sendCommand(key, false, command);
    return this.#callAny(command);
  }

  /**
   * A Cluster client of node-redis 6 would send the command to all nodes, and add up their replies.
   */
  async #callAny(command: readonly string[]): Promise<unknown> {
    const [master] = this.#client.masters ?? [];
    return (await this.#client.nodeClient!(master!)).sendCommand(command);
  }

  async subscribe(channel: string): Promise<void> {
    await this.#client.subscribe(channel, (_message, from) => this.#hear(from));
    this.#channels.add(channel);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel);
    await this.#client.unsubscribe(channel);
  }

  listen({ failed, connected, closed, message }: ClientListener): void {
    if (failed) this.#client.on('error', failed);
    if (connected) this.#client.on('connect', connected);
    // With Sentinel, a new master causes one of these events.
    for (const event of ['error', 'end', 'topology-change'])
      if (closed) this.#client.on(event, closed);
    if (message) this.#hear = message;
  }

  disconnect(reconnects = false, key?: string): void {
    if (key !== undefined && this.#leave(key)) return;
    void this.#end().then(() => (reconnects ? this.#resume() : undefined));
  }

  /** While a Cluster master hangs, a new connection of the whole client might fail. */
  #leave(key: string): boolean {
    if (this.#lookedInVainCount >= IN_VAIN_MAX) return false;
    const looking = leaveMaster(this.#client, slotOf(key));
    if (looking === undefined) return false;
    this.#lookedInVainCount++;
    void looking.then(() => (this.#lookedInVainCount = 0));
    return true;
  }

  async #end(): Promise<void> {
    this.#hasConnected = false;
    this.#lookedInVainCount = 0;
    try {
      await this.#client.destroy();
    } catch {
      // It is closed already.
    }
  }

  /** A client loses its subscriptions when it ends, so they are renewed. */
  async #resume(): Promise<void> {
    try {
      await this.#connect();
      await Promise.all([...this.#channels].map((channel) => this.subscribe(channel)));
    } catch {
      // The next call connects, or reports the error; nothing depends on a message.
    }
  }

  async sentinels(): Promise<Sentinels | undefined> {
    const { name = '', sentinelRootNodes = [] } = this.#options;
    if (this.#kind !== 'sentinel') return undefined;
    const master = await this.#client._execute!(false, async (node) => node);
    const options = sentinelRootNodes.map((node) => optionsOfSentinel(node, this.#options));
    const clients = options.map((ours) => new NodeRedisClient(master.duplicate!(ours), ours));
    return { masterName: name, clients };
  }
}
