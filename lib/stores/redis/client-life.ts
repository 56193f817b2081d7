/**
 * The life of one client, from its first use to its end, for all its users.
 *
 * Guarantee: the client is created once and connected once, and nothing outlives its end. A
 * connection that no longer responds is replaced. A failed TLS handshake is reported during the
 * attempt, because a port without TLS never responds.
 */
import { monotonicClock } from '../../core/clock.js';
import { processWide } from '../../process-wide.js';
import {
  Alarm,
  systemTimers,
  withinLimit,
  type AlarmTime,
  type Timers,
} from '../../time/timers.js';
import { fieldOf, isTimeout, type RedisClient, type Sentinels } from './clients/redis-client.js';

/** Shorter than the limit of a call, which would otherwise end without a reason. */
const TLS_MS = 1500;
/** Scripts take microseconds. By default, a busy server reports this to every client after 5 s. */
export const SILENCE_MS = 10_000;

/** The calls that wait for one server, and the alarm for its silence. */
interface Waiting {
  count: number;
  /** True from the first call until one is answered and no other waits. */
  isWatched: boolean;
  readonly silence: Alarm;
}

const REAL_TIME: AlarmTime = { timers: systemTimers, monotonic: monotonicClock };

/** Copies of this package call each other's public methods. */
export class ClientLife {
  // Private, so that printing the support does not show it: a client holds its password.
  readonly #build: () => Promise<RedisClient>;
  readonly #time: AlarmTime;
  readonly #ended: () => void;
  #userCount = 1;
  #opening: Promise<RedisClient> | undefined;
  #connecting: Promise<void> | undefined;
  #client: RedisClient | undefined;
  #lastError: Error | undefined;
  /** Requested once for each connection, before its first call. */
  #asking: FailoverEpoch | undefined;
  /**
   * By the key that leads to a Cluster node, because one node may be silent while others respond.
   */
  readonly #waiting = new Map<string, Waiting>();

  constructor(build: () => Promise<RedisClient>, time = REAL_TIME, ended = () => {}) {
    this.#build = build;
    this.#time = time;
    this.#ended = ended;
  }

  /**
   * The last error of the connection; a failed command only reports that there is no connection.
   */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /**
   * The number of the failover in which Sentinel chose the server, known when the client is ready;
   * 0 without a Sentinel.
   */
  get epoch(): number {
    return this.#asking?.epoch ?? 0;
  }

  join(): this {
    this.#userCount++;
    return this;
  }

  /** Ends the use of one user, once; after the last user, the client ends. */
  end(): void {
    if (--this.#userCount > 0) return;
    this.#ended();
    for (const { silence } of this.#waiting.values()) silence.end();
    this.#waiting.clear();
    // Not QUIT: a server that hangs would never respond to it, and no call is pending.
    this.#client?.disconnect();
  }

  /** The client, if it can send a call at once. */
  get readyClient(): RedisClient | undefined {
    return this.#asking?.isOver && this.#client?.isReady ? this.#client : undefined;
  }

  /** The client, once a connection attempt has succeeded or failed. */
  async ready(): Promise<RedisClient> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    const client = await this.#opening;
    if (this.#userCount === 0) return client;
    if (!client.isReady) {
      this.#connecting ??= client.settle().finally(() => (this.#connecting = undefined));
      const heard = this.asks();
      const connecting = this.#connecting.finally(heard);
      await (client.isTls ? this.#withinLimit(connecting) : connecting);
    }
    if (client.isReady) await this.#isAsked(client);
    return client;
  }

  /**
   * Starts the wait of a call. If calls wait on a connection and the server answers none for
   * SILENCE_MS, the connection is replaced. When a server's machine fails, it closes no connection.
   * The kernel then retransmits for about fifteen minutes, and a client without a limit waits as
   * long.
   *
   * @param node the key that leads to the Cluster node of the call
   * @returns a function to call after the response, with the error if the call failed
   */
  asks(node = ''): (error?: unknown) => void {
    const waiting = this.#waitingFor(node);
    waiting.count++;
    if (!waiting.isWatched) watch(waiting);
    return (error) => {
      waiting.count--;
      // A client that gives up waiting has received nothing.
      if (!isTimeout(error) && this.#userCount > 0) watch(waiting);
    };
  }

  #waitingFor(node: string): Waiting {
    const known = this.#waiting.get(node);
    if (known !== undefined) return known;
    const silence = new Alarm(this.#time, () => {
      watch(waiting);
      this.#lastError = new Error(`nothing was heard for ${SILENCE_MS} ms`);
      // Its calls continue over the next connection, or fail with it.
      this.#client?.disconnect(true, node === '' ? undefined : node);
    });
    const waiting = { count: 0, isWatched: false, silence };
    this.#waiting.set(node, waiting);
    return waiting;
  }

  #isAsked(client: RedisClient): Promise<void> {
    return (this.#asking ??= failoverEpoch(client, this.#time.timers)).asked;
  }

  #withinLimit(settling: Promise<void>): Promise<void> {
    const over = () => {
      throw new Error(`no TLS connection within ${TLS_MS} ms`);
    };
    return withinLimit(settling, { timers: this.#time.timers, ms: TLS_MS, over });
  }

  async #open(): Promise<RedisClient> {
    const client = await this.#build();
    client.listen({
      failed: (error) => (this.#lastError = error),
      connected: () => (this.#lastError = undefined),
      closed: () => (this.#asking = undefined),
    });
    if (this.#userCount === 0) client.disconnect();
    return (this.#client = client);
  }
}

/** Restarts the time of silence, if calls wait. */
function watch(waiting: Waiting): void {
  waiting.isWatched = waiting.count > 0;
  waiting.silence.set(waiting.isWatched ? SILENCE_MS : Infinity);
}

/**
 * The shared clients of this process: one for all users of the same Redis.
 *
 * Guarantee: neither a client nor its key can be printed, because both hold passwords.
 */
export class SharedClients {
  readonly #clients = new Map<unknown, ClientLife>();

  /** @param key identifies the client: all its settings as a string, or a given client */
  join(key: string | object, build: () => Promise<RedisClient>): ClientLife {
    const known = this.#clients.get(key);
    if (known !== undefined) return known.join();
    const ended = () => void this.#clients.delete(key);
    const life = new ClientLife(build, REAL_TIME, ended);
    this.#clients.set(key, life);
    return life;
  }
}

export const sharedClients = processWide('redis-clients', () => new SharedClients());

/*
 * The number of the failover in which Sentinel chose a server; it grows with each failover.
 *
 * Guarantee: it is never higher than the current number. If a Sentinel does not respond in time,
 * nothing depends on its number. A later response counts from then on.
 */

/** How long the first call of a connection waits while no Sentinel has responded. */
const TOLD_MS = 3000;
/** After the first response, the other Sentinels have this much time. */
const OTHERS_MS = 300;

export interface FailoverEpoch {
  /** The highest number so far; 0 without a response, or without a Sentinel. */
  readonly epoch: number;
  readonly asked: Promise<void>;
  /** True once all requests have ended. */
  readonly isOver: boolean;
}

export function failoverEpoch(client: RedisClient, timers: Timers): FailoverEpoch {
  const found = { epoch: 0, isOver: false };
  const ask = async (sentinel: RedisClient, masterName: string) => {
    await sentinel.settle();
    const reply = await sentinel.call(['sentinel', 'master', masterName]);
    // A Sentinel that has led no failover yet reports 0, which is a valid number.
    const epoch = Number(fieldOf(reply, 'config-epoch') ?? -1) + 1;
    found.epoch = Math.max(found.epoch, epoch);
  };
  const askAll = async () => {
    const { masterName, clients } = (await client.sentinels?.()) ?? NONE;
    const asks = clients.map((sentinel) =>
      withinLimit(ask(sentinel, masterName), {
        timers,
        ms: TOLD_MS,
        over: () => undefined,
      }).finally(() => sentinel.disconnect()),
    );
    // If no Sentinel responds, nothing depends on the number.
    await Promise.any(asks).catch(() => undefined);
    await withinLimit(Promise.allSettled(asks), { timers, ms: OTHERS_MS, over: () => [] });
  };
  return Object.assign(found, { asked: askAll().finally(() => (found.isOver = true)) });
}

const NONE: Sentinels = { masterName: '', clients: [] };
