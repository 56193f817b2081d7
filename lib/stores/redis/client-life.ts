/**
 * One client, from its first use to its end, however many use it.
 *
 * Guarantee: it is built once and connected once; nothing outlives its end. A connection that
 * answers no call any more is replaced, and TLS that does not come up is reported while it is
 * tried: a port without it says nothing.
 */
import { processWide } from '../../process-wide.js';
import { systemTimers, withinLimit, type TimerHandle, type Timers } from '../../time/timers.js';
import { fieldOf, isTimeout, type RedisClient, type Sentinels } from './clients/redis-client.js';

/** Less than a call may take, which would end without a reason. */
const TLS_MS = 1500;

/** The use of a client, which may be shared. */
export interface ClientUse {
  /** The last error of the connection; a failed command only says that there is no connection. */
  readonly lastError: Error | undefined;
  /**
   * The number of the failover by which Sentinel named the server, once it is ready; 0 without a
   * Sentinel.
   */
  readonly epoch?: number;
  /** The client, once a connection that is under way has come up or failed. */
  ready(): Promise<RedisClient>;
  /**
   * Waits for an answer of the client, if need be over another connection.
   *
   * @param key that led to the node of a Cluster which is to answer
   */
  answered<T>(answer: Promise<T>, key?: string): Promise<T>;
  /** Ends this use; a second time it does nothing. */
  end(): void;
}

export class ClientLife implements ClientUse {
  // Private, so that printing the support does not show it: a client holds its password.
  readonly #build: () => Promise<RedisClient>;
  #opening: Promise<RedisClient> | undefined;
  #connecting: Promise<void> | undefined;
  #client: RedisClient | undefined;
  #lastError: Error | undefined;
  /** Asked once for each connection, before its first call. */
  #asking: FailoverEpoch | undefined;
  #isOver = false;
  readonly #silence: Silence;
  readonly #timers: Timers;

  constructor(build: () => Promise<RedisClient>, timers = systemTimers) {
    this.#build = build;
    this.#timers = timers;
    this.#silence = new Silence((key) => this.#replace(key), timers);
  }

  get lastError(): Error | undefined {
    return this.#lastError;
  }

  async ready(): Promise<RedisClient> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    const client = await this.#opening;
    if (this.#isOver) return client;
    if (!client.isReady) {
      this.#connecting ??= client.settle().finally(() => (this.#connecting = undefined));
      const connecting = this.answered(this.#connecting);
      await (client.isTls ? this.#withinLimit(connecting) : connecting);
    }
    if (client.isReady) await (this.#asking ??= failoverEpoch(client, this.#timers)).asked;
    return client;
  }

  get epoch(): number {
    return this.#asking?.epoch ?? 0;
  }

  answered<T>(answer: Promise<T>, key = ''): Promise<T> {
    return this.#silence.until(answer, this.#client?.isCluster === true ? key : '');
  }

  end(): void {
    this.#isOver = true;
    this.#silence.end();
    // Not QUIT: a server that hangs would never answer it, and nothing is under way any more.
    this.#client?.disconnect();
  }

  #withinLimit(settling: Promise<void>): Promise<void> {
    const over = () => {
      throw new Error(`no TLS connection within ${TLS_MS} ms`);
    };
    return withinLimit(settling, { timers: this.#timers, ms: TLS_MS, over });
  }

  /** Its calls go on over the next connection, or fail with it. */
  #replace(key: string): void {
    this.#lastError = new Error(`nothing was heard for ${SILENCE_MS} ms`);
    this.#client?.disconnect(true, key === '' ? undefined : key);
  }

  async #open(): Promise<RedisClient> {
    const client = await this.#build();
    client.listen({
      failed: (error) => (this.#lastError = error),
      connected: () => (this.#lastError = undefined),
      closed: () => (this.#asking = undefined),
    });
    if (this.#isOver) client.disconnect();
    return (this.#client = client);
  }
}

/*
 * The clients of this process that several may use: one for all that name the same Redis.
 *
 * Guarantee: a user that ends its use does not disturb the others; the last one ends the client.
 * Neither a client nor its key can be printed, since both hold passwords.
 */

interface SharedClient {
  readonly life: ClientLife;
  readonly uses: Set<ClientUse>;
}

/** Copies of this package call `join` of each other, and the methods of ClientUse. */
export class SharedClients {
  readonly #clients = new Map<unknown, SharedClient>();

  /** @param key what the client is made of: all its settings as a text, or a client */
  join(key: string | object, build: () => Promise<RedisClient>): ClientUse {
    const known = this.#clients.get(key);
    const shared = known ?? { life: new ClientLife(build), uses: new Set() };
    const use: ClientUse = {
      get lastError() {
        return shared.life.lastError;
      },
      get epoch() {
        return shared.life.epoch;
      },
      ready: () => shared.life.ready(),
      answered: (answer, key) => shared.life.answered(answer, key),
      end: () => this.#leave(key, shared, use),
    };
    this.#clients.set(key, shared);
    shared.uses.add(use);
    return use;
  }

  #leave(key: unknown, shared: SharedClient, use: ClientUse): void {
    if (!shared.uses.delete(use) || shared.uses.size > 0) return;
    // The next user begins with another client.
    this.#clients.delete(key);
    shared.life.end();
  }
}

export const sharedClients = processWide('redis-clients', () => new SharedClients());

/*
 * Notices that a connection has gone silent: calls wait on it, and no answer comes. A Cluster has
 * many connections, of which one may be silent while the others answer, so each key counts alone.
 *
 * A server that is gone with its machine closes no connection. The kernel repeats the last bytes,
 * on Linux for some fifteen minutes, and a client without a limit waits as long. Guarantee: a
 * connection that still answers a call is left alone.
 */

/** Scripts take microseconds. A busy server says so to every client after 5 s, by default. */
export const SILENCE_MS = 10_000;

/** The calls that wait for one node. */
interface Waiting {
  count: number;
  isHeard: boolean;
  timer: TimerHandle;
}

class Silence {
  readonly #onSilence: (key: string) => void;
  readonly #timers: Timers;
  readonly #waiting = new Map<string, Waiting>();

  /** @param onSilence at each SILENCE_MS that passed without an answer */
  constructor(onSilence: (key: string) => void, timers = systemTimers) {
    this.#onSilence = onSilence;
    this.#timers = timers;
  }

  /** @param answer one that is waited for, from the node to which the key leads */
  async until<T>(answer: Promise<T>, key: string): Promise<T> {
    const waiting = this.#waiting.get(key) ?? this.#begun(key);
    waiting.count++;
    try {
      const got = await answer;
      waiting.isHeard = true;
      return got;
    } catch (error) {
      // A client that gives up waiting has heard nothing.
      waiting.isHeard ||= !isTimeout(error);
      throw error;
    } finally {
      if (--waiting.count === 0 && waiting.isHeard) this.#forget(key, waiting);
    }
  }

  end(): void {
    for (const [key, waiting] of this.#waiting) this.#forget(key, waiting);
  }

  #begun(key: string): Waiting {
    const waiting = { count: 0, isHeard: false, timer: undefined };
    this.#waiting.set(key, waiting);
    this.#listen(key, waiting);
    return waiting;
  }

  #listen(key: string, waiting: Waiting): void {
    waiting.isHeard = false;
    waiting.timer = this.#timers.after(SILENCE_MS, () => {
      if (!waiting.isHeard) this.#onSilence(key);
      if (waiting.count === 0) this.#forget(key, waiting);
      else this.#listen(key, waiting);
    });
  }

  #forget(key: string, waiting: Waiting): void {
    this.#timers.cancel(waiting.timer);
    if (this.#waiting.get(key) === waiting) this.#waiting.delete(key);
  }
}

/*
 * The number of the failover by which Sentinel names a server, which grows with each.
 *
 * Guarantee: it is never more than it is at this moment. A Sentinel that does not tell in time
 * knows nothing, and nothing rests on it; what it tells later counts from then on.
 */

/** How long the first call of a connection waits where no Sentinel has told yet. */
const TOLD_MS = 3000;
/** Once one has told, the others have no longer than this. */
const OTHERS_MS = 300;

export interface FailoverEpoch {
  /** The highest that a Sentinel has told so far; 0 where none has, or where there is none. */
  readonly epoch: number;
  readonly asked: Promise<void>;
}

export function failoverEpoch(client: RedisClient, timers: Timers): FailoverEpoch {
  const found = { epoch: 0 };
  let oneTold = () => {};
  const first = new Promise<void>((resolve) => (oneTold = resolve));
  const ask = async (sentinel: RedisClient, masterName: string) => {
    await sentinel.settle();
    const reply = await sentinel.call(['sentinel', 'master', masterName]);
    const epoch = fieldOf(reply, 'config-epoch');
    if (epoch === undefined) return;
    // A Sentinel that has led no failover yet says 0, which is a number like the others.
    found.epoch = Math.max(found.epoch, Number(epoch) + 1);
    oneTold();
  };
  const askAll = async () => {
    const { masterName, clients } = (await client.sentinels?.()) ?? NONE;
    const asks = clients.map((sentinel) =>
      withinLimit(ask(sentinel, masterName), { timers, ms: TOLD_MS, over: () => undefined })
        // Another one may tell; where none does, nothing rests on it.
        .catch(() => undefined)
        .finally(() => sentinel.disconnect()),
    );
    const all = Promise.all(asks);
    await Promise.race([first, all]);
    await withinLimit(all, { timers, ms: OTHERS_MS, over: () => [] });
  };
  return Object.assign(found, { asked: askAll() });
}

const NONE: Sentinels = { masterName: '', clients: [] };
