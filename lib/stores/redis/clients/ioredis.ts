/**
 * Clients of ioredis 5 and 6, and of iovalkey, which has the same structure: one Redis, Sentinel
 * and Cluster.
 */
import { guard, type GuardedIoredis } from './ioredis-guards.js';
import {
  type GivenIoredis,
  locate,
  optionsOfSentinel,
  givenByUrl,
  overridesOf,
} from './ioredis-options.js';
import {
  type ClientLibrary,
  type ClientListener,
  type LibraryLabel,
  nextEvent,
  type RedisClient,
  type Sentinels,
  slotOf,
} from './redis-client.js';

type Constructors = Readonly<Record<'Redis' | 'Cluster', new (...given: unknown[]) => Ioredis>>;

export const IOREDIS: ClientLibrary = {
  hasSentinel: true,
  isClient(value) {
    const { status, duplicate } = value as Partial<Ioredis>;
    return typeof status === 'string' && typeof duplicate === 'function';
  },
  locate: (client) => locate(client as Ioredis),
  duplicate(client) {
    const { isCluster = false, options = {} } = client as Ioredis;
    const overrides = overridesOf(isCluster, options);
    const ours = (client as Ioredis).duplicate(...(isCluster ? [[], overrides] : [overrides]));
    // Newer versions of ioredis have these options, for a single server and for a Cluster.
    const isSure = ['clientInfoTag', 'shardedSubscribers'].some(
      (name) => name in Object(ours.options),
    );
    return new IoredisClient(ours, isSure ? 'ioredis' : 'ioredis or iovalkey');
  },
  build(url, loaded, library) {
    const exported = loaded as Partial<Constructors> & { readonly default: Constructors };
    // If a package exports a function, ncc keeps only the default export.
    const { Redis = exported.default.Redis, Cluster = exported.default.Cluster } = exported;
    const isCluster = url.kind === 'cluster';
    const given = givenByUrl(url);
    const options = { ...given, ...overridesOf(isCluster, given) };
    const made = isCluster ? new Cluster([...url.hosts], options) : new Redis(options);
    return new IoredisClient(made, library);
  },
};

/*
 * The library's own client, created by ioredis or iovalkey.
 */

/** The used part of a client, by its structure. */
interface Ioredis extends GivenIoredis, GuardedIoredis {
  readonly status: string;
  /**
   * Only a Cluster has them: the master and replicas of each slot, and the clients of all nodes.
   */
  readonly slots?: readonly (readonly string[] | undefined)[];
  nodes?(role: 'all'): readonly Ioredis[];
  duplicate(...options: readonly unknown[]): Ioredis;
  connect(): Promise<void>;
  disconnect(reconnects?: boolean): void;
  call(...command: readonly string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

export class IoredisClient implements RedisClient {
  readonly library: LibraryLabel;
  readonly isTls: boolean;
  readonly #client: Ioredis;

  constructor(client: object, library: LibraryLabel) {
    this.library = library;
    this.#client = client as Ioredis;
    const { options } = this.#client;
    this.isTls = Boolean(options?.tls ?? options?.redisOptions?.tls);
    guard(this.#client);
  }

  get isReady(): boolean {
    return this.#client.status === 'ready';
  }

  async settle(): Promise<void> {
    const { status } = this.#client;
    // Commands during a connection attempt would fail without a reason.
    if (status === 'wait' || status === 'end') await this.#client.connect();
    else await nextEvent(this.#client, ['ready', 'close', 'end']);
  }

  call(command: readonly string[]): Promise<unknown> {
    return this.#client.call(...command);
  }

  subscribe(channel: string): Promise<unknown> {
    return this.#client.subscribe(channel);
  }

  unsubscribe(channel: string): Promise<unknown> {
    return this.#client.unsubscribe(channel);
  }

  listen({ failed, connected, closed, message }: ClientListener): void {
    if (failed) this.#client.on('error', failed);
    // Not at 'ready', which also occurs on a connection that has rejected the password.
    if (connected) this.#client.on('connect', connected);
    if (closed) this.#client.on('close', closed);
    if (message) this.#client.on('message', message);
  }

  disconnect(reconnects = false, key?: string): void {
    const node = key === undefined ? undefined : this.#nodeOf(key);
    // Not QUIT: a server that hangs would never respond to it, and no call is pending. A Cluster
    // client repeats the node's unanswered commands, and requests the slots from other nodes.
    if (node) node.disconnect();
    else this.#client.disconnect(reconnects);
  }

  #nodeOf(key: string): Ioredis | undefined {
    const [name] = this.#client.slots?.[slotOf(key)] ?? [];
    const nameOf = ({ options }: Ioredis) => [options?.host, options?.port].join(':');
    return this.#client.nodes?.('all').find((node) => nameOf(node) === name);
  }

  async sentinels(): Promise<Sentinels | undefined> {
    const { options = {} } = this.#client;
    const { sentinels, name } = options;
    if (!sentinels || name === undefined) return undefined;
    const made = sentinels.map((one) => this.#client.duplicate(optionsOfSentinel(one, options)));
    return { masterName: name, clients: made.map((one) => new IoredisClient(one, this.library)) };
  }
}
