/**
 * One client, from its first use to its end, however many use it.
 *
 * Promise: it is built once and connected once, whoever asks first; nothing outlives its end. A
 * connection on which nobody is answered any more is replaced, and TLS that does not come up is
 * told of while it is tried: a port without it says nothing.
 */
import { systemTimers, type Timers } from '../../../patience/timers.js';
import { withinLimit } from '../../../patience/within-limit.js';
import { hearLaterErrors, speaksTls, type RedisClient } from './redis-client.js';
import { sentinelEpoch } from './sentinel-epoch.js';
import { Silence, SILENCE_MS } from './silence.js';

/** Less than a call may take, which would end without a reason. */
const TLS_MS = 1500;

/** What somebody has of a client, which may be theirs alone. */
export interface ClientUse {
  /** What the connection said last; a command only says that there is none. */
  readonly lastError: Error | undefined;
  /** Of the failover by which Sentinel named the server, once it is ready; 0 without a Sentinel. */
  readonly epoch?: number;
  /** The client, once a connection that is under way has come up or failed. */
  ready(): Promise<RedisClient>;
  /** What the client answers, if need be over another connection. */
  answered<T>(answer: Promise<T>): Promise<T>;
  /** Ends this use; a second time it does nothing. */
  end(): void;
}

export class ClientLife implements ClientUse {
  // Not to be seen by whoever prints the support: a client holds its password.
  readonly #build: () => Promise<RedisClient>;
  #opening: Promise<RedisClient> | undefined;
  #settling: Promise<void> | undefined;
  #client: RedisClient | undefined;
  #lastError: Error | undefined;
  /** Asked once for each connection, before its first call. */
  #asking: Promise<number> | undefined;
  #epoch = 0;
  #isOver = false;
  readonly #silence: Silence;
  readonly #timers: Timers;

  constructor(build: () => Promise<RedisClient>, timers = systemTimers) {
    this.#build = build;
    this.#timers = timers;
    this.#silence = new Silence(() => this.#replace(), timers);
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
    if (client.status !== 'ready') {
      this.#settling ??= settled(client).finally(() => (this.#settling = undefined));
      const settling = this.answered(this.#settling);
      await (speaksTls(client) ? this.#withinLimit(settling) : settling);
    }
    if (client.status === 'ready') {
      this.#epoch = await (this.#asking ??= sentinelEpoch(client, this.#timers));
    }
    return client;
  }

  get epoch(): number {
    return this.#epoch;
  }

  answered<T>(answer: Promise<T>): Promise<T> {
    return this.#silence.until(answer);
  }

  end(): void {
    this.#isOver = true;
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
  #replace(): void {
    this.#lastError = new Error(`nothing was heard for ${SILENCE_MS} ms`);
    this.#client?.disconnect(true);
  }

  async #open(): Promise<RedisClient> {
    const client = await this.#build();
    client.on('error', (error) => (this.#lastError = error));
    hearLaterErrors(client);
    // Not at 'ready', which a connection that has refused the password may still come to.
    client.on('connect', () => (this.#lastError = undefined));
    client.on('close', () => (this.#asking = undefined));
    if (this.#isOver) client.disconnect();
    return (this.#client = client);
  }
}

/**
 * A connection under way comes up or breaks; commands sent before that would fail for no reason.
 */
async function settled(client: RedisClient): Promise<void> {
  const isDown = client.status === 'wait' || client.status === 'end';
  await (isDown ? client.connect() : nextEvent(client));
}

function nextEvent(client: RedisClient): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      for (const event of ['ready', 'close', 'end']) client.off(event, done);
      resolve();
    };
    for (const event of ['ready', 'close', 'end']) client.once(event, done);
  });
}
