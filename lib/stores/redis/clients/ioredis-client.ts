/**
 * Our own client, made by ioredis or iovalkey.
 */
import type { GivenIoredis } from './ioredis-given.js';
import { goOnWithoutInfo, ignoreLaterErrors, type GuardedIoredis } from './ioredis-guards.js';
import {
  nextEvent,
  type ClientListener,
  type LibraryLabel,
  type RedisClient,
  type Sentinels,
} from './redis-client.js';

/** The part of a client that is used here; all of it is known by shape. */
export interface Ioredis extends GivenIoredis, GuardedIoredis {
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
