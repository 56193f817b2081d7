/**
 * Clients of ioredis 5 and 6, and of iovalkey, which has the same shape: one Redis, Sentinel and
 * Cluster.
 */
import { locate, type GivenIoredis, optionsOfUrl, overridesOf } from './ioredis-options.js';
import {
  type ClientLibrary,
  nextEvent,
  type ClientListener,
  type LibraryLabel,
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
  isReplicated(client) {
    const { isCluster, options } = client as Ioredis;
    return isCluster === true || Boolean(options?.sentinels);
  },
  locate: (client) => locate(client as Ioredis),
  duplicate(client) {
    const ours = (client as Ioredis).duplicate(...overridesOf(client as Ioredis));
    // Newer versions of ioredis have these options, of a single server and of a Cluster.
    const isSure = ['clientInfoTag', 'shardedSubscribers'].some(
      (name) => name in Object(ours.options),
    );
    return new IoredisClient(ours, isSure ? 'ioredis' : 'ioredis or iovalkey');
  },
  build(url, loaded, library) {
    const { Redis, Cluster } = loaded as Constructors;
    const made = url.kind === 'cluster' ? Cluster : Redis;
    return new IoredisClient(new made(...optionsOfUrl(url)), library);
  },
};

/*
 * Our own client, made by ioredis or iovalkey.
 */

/** The part of a client that is used here; all of it is known by shape. */
export interface Ioredis extends GivenIoredis, GuardedIoredis {
  readonly status: string;
  /** Only a Cluster has them: by slot its master and replicas, and the clients of all nodes. */
  readonly slots?: readonly (readonly string[] | undefined)[];
  nodes?(role: 'all'): readonly Ioredis[];
  duplicate(...options: readonly unknown[]): Ioredis;
  connect(): Promise<void>;
  disconnect(reconnects?: boolean): void;
  call(...command: readonly string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

export class IoredisClient implements RedisClient {
  readonly isCluster: boolean;
  readonly isTls: boolean;
  readonly #client: Ioredis;

  constructor(
    client: object,
    readonly library: LibraryLabel,
  ) {
    this.#client = client as Ioredis;
    const { isCluster, options } = this.#client;
    this.isCluster = isCluster === true;
    this.isTls = Boolean(options?.tls ?? options?.redisOptions?.tls);
    ignoreLaterErrors(this.#client);
    goOnWithoutInfo(this.#client);
  }

  get isReady(): boolean {
    return this.#client.status === 'ready';
  }

  async settle(): Promise<void> {
    const { status } = this.#client;
    // Commands sent before an attempt has ended would fail for no reason.
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
    // Not at 'ready', which a connection that has refused the password may still come to.
    if (connected) this.#client.on('connect', connected);
    if (closed) this.#client.on('close', closed);
    if (message) this.#client.on('message', message);
  }

  disconnect(reconnects = false, key?: string): void {
    const node = key === undefined ? undefined : this.#nodeOf(key);
    // Not QUIT: a server that hangs would never answer it, and nothing is under way any more. A
    // Cluster sends again what a node has not answered, and asks the others for its slots.
    if (node) node.disconnect();
    else this.#client.disconnect(reconnects);
  }

  #nodeOf(key: string): Ioredis | undefined {
    const [name] = this.#client.slots?.[slotOf(key)] ?? [];
    const nameOf = ({ options }: Ioredis) => [options?.host, options?.port].join(':');
    return this.#client.nodes?.('all').find((node) => nameOf(node) === name);
  }

  async sentinels(): Promise<Sentinels | undefined> {
    const { sentinels, name, ...login } = this.#client.options ?? {};
    if (!sentinels || name === undefined) return undefined;
    const clients = sentinels.map(({ host, port = 26_379 }) => {
      const ofSentinel = {
        sentinels: null,
        host,
        port,
        username: login.sentinelUsername ?? null,
        password: login.sentinelPassword ?? null,
        tls: login.sentinelTLS,
        enableReadyCheck: false,
        retryStrategy: () => null,
      };
      return new IoredisClient(this.#client.duplicate(ofSentinel), this.library);
    });
    return { masterName: name, clients };
  }
}

/*
 * Two guards against the client itself: it could end the process, and it would refuse a server that
 * forbids INFO.
 */

/** The part of a client that is guarded. */
interface GuardedIoredis {
  /** The check whether a new connection is ready calls it. */
  info?: (hear: (error: Error | null, text?: string) => void) => Promise<unknown>;
  readonly stream?: { on(event: 'error', listener: () => void): unknown };
  on(event: string, listener: (argument: never) => void): unknown;
}

/**
 * ioredis hears the first error of a stream alone. With TLS a second one may follow, as when a
 * connection is closed in the midst of its handshake, and would end the process.
 */
function ignoreLaterErrors(client: GuardedIoredis): void {
  const watched = new WeakSet<object>();
  const watch = ({ stream }: GuardedIoredis): void => {
    if (stream === undefined || watched.has(stream)) return;
    watched.add(stream);
    stream.on('error', () => undefined);
  };
  client.on('error', () => watch(client));
  // A Cluster has a client for each node.
  client.on('+node', (node: GuardedIoredis) => node.on('error', () => watch(node)));
}

/**
 * A server that forbids INFO would be warned of on the console, and one that does not know it never
 * be ready. What it means is told by our scripts. (Without the check a stranger that closes each
 * connection would be sent the same command for ever.)
 */
function goOnWithoutInfo(client: GuardedIoredis): void {
  const { info } = client;
  client.info = (hear) =>
    info!.call(client, (error, text) => {
      const isForbidden = error !== null && /^NOPERM|unknown command/i.test(error.message);
      if (isForbidden) hear(null, '');
      else hear(error, text);
    });
  // A Cluster has a client for each node.
  client.on('+node', goOnWithoutInfo);
}
