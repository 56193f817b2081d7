/**
 * Clients of Valkey GLIDE, the package `@valkey/valkey-glide`, for one server or a Cluster. GLIDE
 * does not support Sentinel, and reconnects by itself.
 */
import {
  invalidClient,
  locationOf,
  type ClientLibrary,
  type ClientListener,
  type Login,
  type RedisClient,
} from './redis-client.js';

export const GLIDE: ClientLibrary = {
  hasSentinel: false,
  isClient: (value) => typeof (value as Partial<Glide>).constructor?.createClient === 'function',
  locate(client) {
    // Version 1 takes two arguments here, and has other texts for the server's responses.
    if ((client as { exec?: { readonly length: number } }).exec?.length === 2)
      throw invalidClient('it is of Valkey GLIDE 1, of which 2 or later is needed');
    const { addresses: servers = [], databaseId, credentials } = (client as Glide).config ?? {};
    const kind = isCluster(client) ? 'cluster' : 'standalone';
    const db = kind === 'cluster' ? 0 : databaseId;
    return locationOf({ kind, servers, database: ['databaseId', db], logins: [credentials] });
  },
  duplicate(client) {
    const { constructor, config = {} } = client as Glide;
    return new GlideRedisClient(constructor, config, isCluster(client));
  },
  build({ kind, username, password, hosts: addresses, isTls: useTLS }, loaded) {
    const made = loaded as Record<string, Glide['constructor']>;
    const login = password === undefined ? {} : { credentials: { username, password } };
    const config = { addresses, useTLS, ...login };
    if (kind === 'cluster') return new GlideRedisClient(made['GlideClusterClient']!, config, true);
    return new GlideRedisClient(made['GlideClient']!, config, false);
  },
};

/** Only the client of a Cluster has it. */
const isCluster = (client: object) => 'invokeScriptWithRoute' in client;

/*
 * The library's own client, created by Valkey GLIDE.
 */

/** The used part of a client, by its structure. */
interface Glide {
  readonly constructor: { createClient(config: object): Promise<Glide> };
  readonly config?: GlideConfig;
  customCommand(command: readonly string[], options?: { route: 'randomNode' }): Promise<unknown>;
  /** From GLIDE 2.3 on; with earlier versions, waiters poll for releases. */
  subscribe?(channels: ReadonlySet<string>, timeoutMs: number): Promise<void>;
  unsubscribe?(channels: ReadonlySet<string>, timeoutMs: number): Promise<void>;
  close(): void;
}

interface GlideConfig {
  readonly addresses?: readonly Login[];
  readonly databaseId?: unknown;
  readonly useTLS?: boolean;
  readonly requestTimeout?: number;
  readonly credentials?: { readonly password?: unknown };
}

/** Its default of 250 ms is less than a failover takes. */
const REQUEST_TIMEOUT_MS = 5000;
const SUBSCRIBE_TIMEOUT_MS = 2000;

const OPTIONS = {
  databaseId: 0,
  readFrom: 'primary',
  readOnly: false,
  // Texts, not bytes.
  defaultDecoder: 1,
  inflightRequestsLimit: undefined,
  lazyConnect: false,
  connectionBackoff: undefined,
  compression: undefined,
  clientSideCache: undefined,
  clientCircuitBreaker: undefined,
};

export class GlideRedisClient implements RedisClient {
  readonly library = '@valkey/valkey-glide';
  readonly isTls: boolean;
  readonly #isCluster: boolean;
  // Private, so that printing the support does not show it: its options hold a password.
  readonly #make: (pubsubSubscriptions: object | undefined) => Promise<Glide>;
  readonly #channels = new Set<string>();
  #listener: ClientListener = {};
  #client: Glide | undefined;
  #opening: Promise<void> | undefined;
  #isOver = false;

  constructor(made: Glide['constructor'], config: GlideConfig, isCluster: boolean) {
    const { useTLS, requestTimeout = REQUEST_TIMEOUT_MS } = config;
    this.isTls = useTLS === true;
    this.#isCluster = isCluster;
    const ours = { ...config, ...OPTIONS, requestTimeout };
    this.#make = (pubsubSubscriptions) => made.createClient({ ...ours, pubsubSubscriptions });
  }

  get isReady(): boolean {
    return this.#client !== undefined;
  }

  settle(): Promise<void> {
    return (this.#opening ??= this.#open().finally(() => (this.#opening = undefined)));
  }

  async #open(): Promise<void> {
    const { message } = this.#listener;
    const callback = ({ channel }: { channel: unknown }) => message?.(String(channel));
    const channelsAndPatterns = this.#channels.size > 0 ? { 0: this.#channels } : {};
    const client = await this.#make(message && { channelsAndPatterns, callback });
    if (this.#isOver) return client.close();
    this.#client?.close();
    this.#client = client;
    this.#listener.connected?.();
  }

  async call(command: readonly string[], key?: string): Promise<unknown> {
    if (this.#client === undefined) throw new Error('the connection is closed');
    // By default, a Cluster client would send the command to every node.
    const isOfAny = this.#isCluster && key === undefined;
    return this.#client.customCommand(command, isOfAny ? { route: 'randomNode' } : undefined);
  }

  async subscribe(channel: string): Promise<void> {
    this.#channels.add(channel);
    await this.#client?.subscribe?.(new Set([channel]), SUBSCRIBE_TIMEOUT_MS);
  }

  async unsubscribe(channel: string): Promise<void> {
    this.#channels.delete(channel);
    await this.#client?.unsubscribe?.(new Set([channel]), SUBSCRIBE_TIMEOUT_MS);
  }

  listen(listener: ClientListener): void {
    this.#listener = { ...this.#listener, ...listener };
  }

  disconnect(reconnects = false, key?: string): void {
    this.#isOver = !reconnects;
    // Calls to other Cluster nodes use the old client until there is a new one.
    if (key === undefined) {
      this.#client?.close();
      this.#client = undefined;
      this.#listener.closed?.();
    }
    // The next call reports a failure.
    if (reconnects) this.settle().catch(() => undefined);
  }
}
