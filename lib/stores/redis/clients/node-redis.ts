/**
 * Clients of node-redis 5 and 6, the package `redis`: one Redis, Sentinel and Cluster.
 */
import {
  kindOf,
  optionsOf,
  impatient,
  type Node,
  type NodeRedis,
  type GivenOptions,
  locate,
  optionsOfUrl,
  overridesOf,
  optionsOfSentinel,
} from './node-redis-options.js';
import {
  type ClientLibrary,
  nextEvent,
  type ClientListener,
  type RedisClient,
  type Sentinels,
  slotOf,
} from './redis-client.js';

const FACTORIES = {
  standalone: 'createClient',
  sentinel: 'createSentinel',
  cluster: 'createCluster',
} as const;

/** A minute of silence. What a Cluster looks for by itself has no limit, and is looked for once. */
const IN_VAIN_MAX = 6;
const EVERY_NODE = { has: () => true };
type Factories = Readonly<Record<string, (options: object) => NodeRedis>>;

export const NODE_REDIS: ClientLibrary = {
  hasSentinel: true,
  isClient(value) {
    // A pool answers to the same names, and subscribes to nothing.
    if ('totalClients' in value) return false;
    const { isOpen, connect, destroy } = value as Partial<NodeRedis>;
    return [typeof isOpen, typeof connect, typeof destroy].join() === 'boolean,function,function';
  },
  isReplicated: (client) => kindOf(client) !== 'standalone',
  locate: (client) => locate(client),
  duplicate(client) {
    const ours = (client as Node).duplicate(overridesOf(client));
    return new NodeRedisClient(ours, optionsOf(client));
  },
  build(url, loaded) {
    const options = optionsOfUrl(url);
    return new NodeRedisClient((loaded as Factories)[FACTORIES[url.kind]]!(options), options);
  },
};

/*
 * Our own client, made by node-redis.
 */

export class NodeRedisClient implements RedisClient {
  readonly library = 'redis';
  readonly isTls: boolean;
  readonly isCluster: boolean;
  readonly #kind: ReturnType<typeof kindOf>;
  readonly #client: NodeRedis;
  readonly #options: GivenOptions;
  readonly #channels = new Set<string>();
  #hear: (channel: string) => void = () => undefined;
  /** One attempt of a Cluster or by Sentinel, which a client of one Redis repeats by itself. */
  #connecting: Promise<unknown> | undefined;
  #hasConnected = false;
  /** How often a node of a Cluster was left since it last ended looking for its slots. */
  #lookedInVainCount = 0;

  constructor(client: NodeRedis, options: GivenOptions) {
    this.#client = client;
    this.#options = options;
    this.#kind = kindOf(client);
    this.isCluster = this.#kind === 'cluster';
    const node = options.nodeClientOptions ?? options.defaults ?? options;
    this.isTls = Boolean(node.socket?.tls);
    // An error that nobody hears would end the process; the next call reports it.
    client.on('error', () => undefined);
  }

  get isReady(): boolean {
    const { isReady, isOpen } = this.#client;
    return isReady ?? (isOpen && this.#hasConnected);
  }

  async settle(): Promise<void> {
    const isStandalone = this.#kind === 'standalone';
    const endings = ['error', 'end'];
    if (isStandalone && this.#client.isOpen) return nextEvent(this.#client, ['ready', ...endings]);
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    const failed = isStandalone ? [nextEvent(this.#client, endings)] : [];
    await Promise.race([this.#connecting, ...failed]);
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

  /** A Cluster of node-redis 6 would ask all of its nodes, and add up what they tell. */
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
    // By Sentinel another master is one of these.
    for (const event of ['error', 'end', 'topology-change'])
      if (closed) this.#client.on(event, closed);
    if (message) this.#hear = message;
  }

  disconnect(reconnects = false, key?: string): void {
    if (key !== undefined && this.#leave(key)) return;
    void this.#end().then(() => (reconnects ? this.#resume() : undefined));
  }

  /**
   * A Cluster looks for its slots anew only where a node refuses one, which one that hangs does
   * not; and while one of its masters hangs, the whole would not connect again. No node is asked
   * but one that answers and those of the options: of the nodes it knows one hangs. Where none of
   * them tells, the next silence tries again.
   */
  #leave(key: string): boolean {
    const { slots, masters = [], _slots } = this.#client;
    const node = slots?.[slotOf(key)]?.master;
    const other = masters.find(({ client }) => client?.isReady && client !== node?.client);
    if (!node || !other || !_slots || this.#lookedInVainCount >= IN_VAIN_MAX) return false;
    const { client } = node;
    // The next call makes another one, of whichever node has the slot then.
    node.client = node.connectPromise = undefined;
    if (client?.isOpen) client.destroy();
    this.#lookedInVainCount++;
    const { options } = other.client!;
    const looking = _slots.rediscover({ options: impatient(options!) }, EVERY_NODE);
    const ended = () => (this.#lookedInVainCount = 0);
    looking.then(ended, ended);
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

  /** Its end forgets what it was subscribed to. */
  async #resume(): Promise<void> {
    try {
      await this.#connect();
      await Promise.all([...this.#channels].map((channel) => this.subscribe(channel)));
    } catch {
      // The next call connects, or reports why it cannot; nothing depends on a message.
    }
  }

  async sentinels(): Promise<Sentinels | undefined> {
    const { name = '', sentinelRootNodes = [] } = this.#options;
    if (this.#kind !== 'sentinel') return undefined;
    const master = await this.#client._execute!(false, async (node) => node);
    const options = sentinelRootNodes.map((node) => optionsOfSentinel(node, this.#options));
    const clients = options.map((ours) => new NodeRedisClient(master.duplicate(ours), ours));
    return { masterName: name, clients };
  }
}
