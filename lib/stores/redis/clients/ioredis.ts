/**
 * Clients of ioredis 5 and 6, and of iovalkey, which has the same shape: one Redis, Sentinel and
 * Cluster.
 */
import { goOnWithoutInfo, ignoreLaterErrors, type GuardedIoredis } from './ioredis-guards.js';
import { locate, optionsOfUrl, overridesOf, type GivenIoredis } from './ioredis-options.js';
import {
  nextEvent,
  type ClientLibrary,
  type ClientListener,
  type LibraryName,
  type RedisClient,
  type Sentinels,
} from './redis-client.js';

/** The part of a client that is used here; all of it is known by shape. */
interface Ioredis extends GivenIoredis, GuardedIoredis {
  readonly status: string;
  duplicate(...options: readonly unknown[]): Ioredis;
  connect(): Promise<void>;
  disconnect(reconnects?: boolean): void;
  call(...command: readonly string[]): Promise<unknown>;
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
  once(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
}

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
    return new IoredisClient(ours, 'ioredis');
  },
  build(url, loaded, library) {
    const { Redis, Cluster } = loaded as Constructors;
    const made = url.kind === 'cluster' ? Cluster : Redis;
    return new IoredisClient(new made(...optionsOfUrl(url)), library);
  },
};

/** Exported for tests, which look at the client inside. */
export class IoredisClient implements RedisClient {
  readonly isCluster: boolean;
  readonly isTls: boolean;
  readonly #client: Ioredis;

  constructor(
    client: object,
    readonly library: LibraryName,
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

  disconnect(reconnects = false): void {
    // Not QUIT: a server that hangs would never answer it, and nothing is under way any more.
    this.#client.disconnect(reconnects);
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
