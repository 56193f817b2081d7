/**
 * Our one connection to Redis: opened at the first call, closed by us.
 *
 * Promise: a script is one atomic step in the database that was asked for, whatever connection
 * carries it; it is sent by its hash and, where the server does not know it, by its text. Every
 * failure is a SnowflakeError that says where and why. Nothing outlives close().
 */
import { createHash } from 'node:crypto';
import { SnowflakeError } from '../../../errors.js';
import { hearLaterErrors, type RedisClient } from './redis-client.js';
import { redisError } from './redis-error.js';
import type { RedisPlace } from './redis-place.js';

export interface Script {
  readonly sha1: string;
  readonly lua: string;
}

/** From the first call to close(). */
interface Life {
  isOver: boolean;
  opening?: Promise<RedisClient>;
  settling?: Promise<void>;
  client?: RedisClient;
  lastError?: Error;
  /** Ends the waiting for a connection that is under way. */
  giveUp?: () => void;
}

export class RedisConnection {
  // Not to be seen by whoever prints the support: a client holds its password.
  readonly #build: () => Promise<RedisClient>;
  readonly #place: RedisPlace;
  readonly #bound = new Map<Script, Script>();
  #life: Life = { isOver: false };
  #hear: (channel: string) => void = () => undefined;

  constructor(build: () => Promise<RedisClient>, place: RedisPlace) {
    this.#build = build;
    this.#place = place;
  }

  /** Server and database, for messages. */
  get where(): string {
    return this.#place.where;
  }

  run(script: Script, key: string, args: readonly (string | number)[]): Promise<unknown[]> {
    const bound = this.#inDatabase(script);
    return this.#ask(async (client) => (await evaluate(client, bound, key, args)) as unknown[]);
  }

  info(section: string): Promise<string> {
    return this.#ask((client) => client.info(section));
  }

  /** Each message's channel, of those subscribed; for a connection that runs nothing. */
  hear(message: (channel: string) => void): void {
    this.#hear = message;
  }

  async subscribe(channel: string): Promise<void> {
    await this.#ask((client) => client.subscribe(channel));
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#ask((client) => client.unsubscribe(channel));
  }

  async close(): Promise<void> {
    const life = this.#life;
    life.isOver = true;
    // Not QUIT: a server that hangs would never answer it, and nothing is under way any more.
    life.client?.disconnect();
    life.giveUp?.();
  }

  /** For those who will close again. Everybody else is refused after close(). */
  reopen(): void {
    if (this.#life.isOver) this.#life = { isOver: false };
  }

  async #ask<T>(use: (client: RedisClient) => Promise<T>): Promise<T> {
    const life = this.#life;
    try {
      return await use(await this.#ready(life));
    } catch (error) {
      if (life.isOver) throw closed(this.#place.where);
      throw redisError(error, this.#place, life.lastError);
    }
  }

  async #ready(life: Life): Promise<RedisClient> {
    if (life.isOver) throw closed(this.#place.where);
    life.opening ??= this.#open(life);
    const client = await life.opening.catch((error: unknown) => {
      life.opening = undefined;
      throw error;
    });
    if (client.status === 'ready' || life.isOver) return stillOpen(client, life);
    life.settling ??= settled(client, life).finally(() => (life.settling = undefined));
    await life.settling;
    return stillOpen(client, life);
  }

  async #open(life: Life): Promise<RedisClient> {
    const client = await this.#build();
    client.on('error', (error) => (life.lastError = error));
    hearLaterErrors(client);
    client.on('message', (channel: string) => this.#hear(channel));
    // Not at 'ready', which a connection that has refused the password may still come to.
    client.on('connect', () => (life.lastError = undefined));
    if (life.isOver) client.disconnect();
    return (life.client = client);
  }

  /**
   * A database is chosen inside the step that uses it: a SELECT of its own could be refused
   * unheard, or be lost with a connection that is replaced between the two.
   */
  #inDatabase(script: Script): Script {
    const { db } = this.#place;
    if (db === 0) return script;
    const known = this.#bound.get(script);
    if (known !== undefined) return known;
    const lua = `redis.call('SELECT', ${db})\n${script.lua}`;
    const bound = { lua, sha1: createHash('sha1').update(lua).digest('hex') };
    this.#bound.set(script, bound);
    return bound;
  }
}

function stillOpen(client: RedisClient, life: Life): RedisClient {
  if (life.isOver) throw new Error('closed');
  return client;
}

/**
 * A connection under way comes up, breaks or is given up; commands sent before that would fail
 * for no reason.
 */
async function settled(client: RedisClient, life: Life): Promise<void> {
  const givenUp = new Promise<void>((resolve) => (life.giveUp = resolve));
  const isDown = client.status === 'wait' || client.status === 'end';
  await Promise.race([isDown ? client.connect() : nextEvent(client), givenUp]);
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

async function evaluate(
  client: RedisClient,
  script: Script,
  key: string,
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await client.evalsha(script.sha1, 1, key, ...args);
  } catch (error) {
    if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
    return client.eval(script.lua, 1, key, ...args);
  }
}

function closed(where: string): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    `The connection to Redis at ${where} is closed, as it is when the application ends; nothing ` +
      `would close a new one. Ask while the application runs.`,
    { retryable: false, details: { where } },
  );
}
