/**
 * One client, from its first use to its end, however many use it.
 *
 * Guarantee: it is built once and connected once; nothing outlives its end. A connection that
 * answers no call any more is replaced, and TLS that does not come up is reported while it is
 * tried: a port without it says nothing.
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

/** Less than a call may take, which would end without a reason. */
const TLS_MS = 1500;
/** Scripts take microseconds. A busy server says so to every client after 5 s, by default. */
export const SILENCE_MS = 10_000;

/** The calls that wait for one server, and what watches how long it is silent. */
interface Waiting {
  count: number;
  /** True from the first call on, until one is answered and no other waits. */
  isWatched: boolean;
  readonly silence: Alarm;
}

const REAL_TIME: AlarmTime = { timers: systemTimers, monotonic: monotonicClock };

/** Copies of this package call the public methods of each other's. */
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
  /** Asked once for each connection, before its first call. */
  #asking: FailoverEpoch | undefined;
  /** By the key that led to a node of a Cluster, which may be silent while others answer. */
  readonly #waiting = new Map<string, Waiting>();

  constructor(build: () => Promise<RedisClient>, time = REAL_TIME, ended = () => {}) {
    this.#build = build;
    this.#time = time;
    this.#ended = ended;
  }

  /** The last error of the connection; a failed command only says that there is no connection. */
  get lastError(): Error | undefined {
    return this.#lastError;
  }

  /**
   * The number of the failover by which Sentinel named the server, once it is ready; 0 without a
   * Sentinel.
   */
  get epoch(): number {
    return this.#asking?.epoch ?? 0;
  }

  join(): this {
    this.#userCount++;
    return this;
  }

  /** Ends the use of one user, once; that of the last one ends the client. */
  end(): void {
    if (--this.#userCount > 0) return;
    this.#ended();
    for (const { silence } of this.#waiting.values()) silence.end();
    this.#waiting.clear();
    // Not QUIT: a server that hangs would never answer it, and nothing is under way any more.
    this.#client?.disconnect();
  }

  /** The client, where a call can be sent at once. */
  get readyClient(): RedisClient | undefined {
    return this.#asking?.isOver && this.#client?.isReady ? this.#client : undefined;
  }

  /** The client, once a connection that is under way has come up or failed. */
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
   * A call waits from now on. A connection on which calls wait, and none is answered for
   * SILENCE_MS, is replaced: a server that is gone with its machine closes none, the kernel repeats
   * the last bytes for some fifteen minutes, and a client without a limit waits as long.
   *
   * @param node the key that led to the node of a Cluster which is to answer
   * @returns a function to call once it is answered, with the error if the call failed
   */
  asks(node = ''): (error?: unknown) => void {
    const waiting = this.#waitingFor(node);
    waiting.count++;
    if (!waiting.isWatched) watch(waiting);
    return (error) => {
      waiting.count--;
      // A client that gives up waiting has heard nothing.
      if (!isTimeout(error) && this.#userCount > 0) watch(waiting);
    };
  }

  #waitingFor(node: string): Waiting {
    const known = this.#waiting.get(node);
    if (known !== undefined) return known;
    const silence = new Alarm(this.#time, () => {
      watch(waiting);
      this.#lastError = new Error(`nothing was heard for ${SILENCE_MS} ms`);
      // Its calls go on over the next connection, or fail with it.
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

/** Begins the time of silence anew, if calls wait. */
function watch(waiting: Waiting): void {
  waiting.isWatched = waiting.count > 0;
  waiting.silence.set(waiting.isWatched ? SILENCE_MS : Infinity);
}

/**
 * The clients of this process that several may use: one for all that name the same Redis.
 *
 * Guarantee: neither a client nor its key can be printed, since both hold passwords.
 */
export class SharedClients {
  readonly #clients = new Map<unknown, ClientLife>();

  /** @param key what the client is made of: all its settings as a text, or a client */
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
  /** True once it is asked. */
  readonly isOver: boolean;
}

export function failoverEpoch(client: RedisClient, timers: Timers): FailoverEpoch {
  const found = { epoch: 0, isOver: false };
  const ask = async (sentinel: RedisClient, masterName: string) => {
    await sentinel.settle();
    const reply = await sentinel.call(['sentinel', 'master', masterName]);
    // A Sentinel that has led no failover yet says 0, which is a number like the others.
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
    // Where none tells, nothing rests on it.
    await Promise.any(asks).catch(() => undefined);
    await withinLimit(Promise.allSettled(asks), { timers, ms: OTHERS_MS, over: () => [] });
  };
  return Object.assign(found, { asked: askAll().finally(() => (found.isOver = true)) });
}

const NONE: Sentinels = { masterName: '', clients: [] };
