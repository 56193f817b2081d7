/**
 * How scripts get to Redis: over a client that may be shared, joined at the first call and left by
 * close().
 *
 * Guarantee: a script is one atomic step in the database that was asked for, whatever connection
 * carries it; it is sent by its hash and, where the server does not know it, by its text. Every
 * failure is a SnowflakeError that says where and why. Nothing is sent or waited for after close().
 */
import { createHash } from 'node:crypto';
import { SnowflakeError } from '../../errors.js';
import { FewAtOnce } from '../../time/line.js';
import { ClientLife, type ClientUse } from './client-life.js';
import {
  isUnknownScript,
  type LibraryLabel,
  type RedisClient,
  type RedisLocation,
} from './clients/redis-client.js';
import { redisError } from './redis-errors.js';

export interface Script {
  readonly sha1: string;
  readonly lua: string;
}

/** The state from the first call to close(). */
interface Life {
  readonly line: CallQueue;
  use?: ClientUse;
}

type Value = string | number;

export class RedisConnection {
  readonly #join: () => ClientUse;
  // Private, so that printing the support does not show it: it holds passwords.
  readonly #location: RedisLocation;
  readonly #boundTo = new Map<string, Script>();
  #life: Life = { line: new CallQueue() };
  #library: LibraryLabel | undefined;

  constructor(join: () => ClientUse, location: RedisLocation) {
    this.#join = join;
    this.#location = location;
  }

  /** Names the server and the database, for messages. */
  get where(): string {
    return this.#location.where;
  }

  /** The same, with the package that got there, once one has. */
  get whereBy(): string {
    return this.#library === undefined ? this.where : `${this.where}, by ${this.#library}`;
  }

  run(script: Script, key: string, args: readonly Value[]): Promise<unknown[]> {
    return this.ask((client, line) => {
      const bound = this.#bound(script, this.#life.use?.epoch ?? 0);
      return evaluated(client, line, bound, [key, args.map(String)]);
    }, key);
  }

  async info(section: string): Promise<string> {
    return String(await this.ask((client) => client.call(['info', section])));
  }

  async close(): Promise<void> {
    const { line, use } = this.#life;
    line.end();
    // It may live on for others.
    use?.end();
  }

  /**
   * Opens the connection again, for users that close it again; else calls are refused after
   * close().
   */
  reopen(): void {
    if (this.#life.line.isOver) this.#life = { line: new CallQueue() };
  }

  /** @param key the one that the call is sent by, if any */
  async ask<T>(
    call: (client: RedisClient, line: CallQueue) => Promise<T>,
    key?: string,
  ): Promise<T> {
    const life = this.#life;
    const { line } = life;
    try {
      const use = () => (life.use ??= this.#join());
      const ready = async () => {
        const client = await use().ready();
        this.#library = client.library;
        return client;
      };
      return await line.run(ready, (client) => use().answered(call(client, line), key));
    } catch (error) {
      if (line.isOver) throw closed(this.#location.where);
      throw redisError(error, this.#location, life.use?.lastError);
    }
  }

  /**
   * A database is chosen inside the step that uses it: a SELECT of its own could be refused
   * unheard, or be lost with a connection that is replaced between the two. So is what Sentinel
   * said of the server, which a script is told in no place of its own among its arguments.
   */
  #bound(script: Script, epoch: number): Script {
    const { db } = this.#location;
    const selects = db === 0 ? '' : `redis.call('SELECT', ${db})\n`;
    const head = epoch === 0 ? selects : `${selects}ARGV.epoch = ${epoch}\n`;
    if (head === '') return script;
    const name = `${head}${script.sha1}`;
    const known = this.#boundTo.get(name);
    if (known !== undefined) return known;
    const lua = `${head}${script.lua}`;
    const bound = { lua, sha1: createHash('sha1').update(lua).digest('hex') };
    this.#boundTo.set(name, bound);
    return bound;
  }
}

async function evaluated(
  client: RedisClient,
  line: CallQueue,
  script: Script,
  [key, args]: readonly [key: string, args: readonly string[]],
): Promise<unknown[]> {
  try {
    return (await client.call(['evalsha', script.sha1, '1', key, ...args], key)) as unknown[];
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    line.refuseOver();
    return (await client.call(['eval', script.lua, '1', key, ...args], key)) as unknown[];
  }
}

function closed(where: string): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    `The connection to Redis at ${where} is closed because the application is shutting down; ` +
      `nothing would close a new one. Call this while it is running.`,
    { retryable: false, details: { where } },
  );
}

/*
 * The calls of one user of a client, which others may use as well.
 *
 * Guarantee: a bounded number is under way and the rest waits in the order in which it came, so
 * that a crowd of one user does not stand before each call of another. After the end every call
 * fails at once, and none that waits is begun.
 */

/** So many calls keep the connection busy, and are still answered within some milliseconds. */
export const UNDER_WAY_MAX = 128;

class CallQueue {
  #isOver = false;
  readonly #line = new FewAtOnce(UNDER_WAY_MAX);
  readonly #givingUp = new Set<() => void>();

  get isOver(): boolean {
    return this.#isOver;
  }

  /** @param ready what is waited for before the turn, by all at once */
  run<C, T>(ready: () => Promise<C>, call: (client: C) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new Error('closed'));
      if (this.#isOver) return giveUp();
      this.#givingUp.add(giveUp);
      const ended = () => void this.#givingUp.delete(giveUp);
      this.#called(ready, call).then(resolve, reject).finally(ended);
    });
  }

  end(): void {
    this.#isOver = true;
    for (const giveUp of this.#givingUp) giveUp();
  }

  /** @throws Error where nothing may be sent any more */
  refuseOver(): void {
    if (this.#isOver) throw new Error('closed');
  }

  async #called<C, T>(ready: () => Promise<C>, call: (client: C) => Promise<T>): Promise<T> {
    const client = await ready();
    return this.#line.run(async () => {
      this.refuseOver();
      return call(client);
    });
  }
}

/*
 * The messages of channels, over a connection that carries nothing else: Redis takes no scripts on
 * one that listens.
 */

export class RedisMessages {
  readonly #connection: RedisConnection;
  #receive: (channel: string) => void = () => undefined;

  constructor(build: () => Promise<RedisClient>, location: RedisLocation) {
    const listening = async () => {
      const client = await build();
      client.listen({ message: (channel) => this.#receive(channel) });
      return client;
    };
    this.#connection = new RedisConnection(() => new ClientLife(listening), location);
  }

  /** Is told the channel of each message. */
  onMessage(message: (channel: string) => void): void {
    this.#receive = message;
  }

  async subscribe(channel: string): Promise<void> {
    this.#connection.reopen();
    await this.#connection.ask((client) => client.subscribe(channel));
  }

  async unsubscribe(channel: string): Promise<void> {
    await this.#connection.ask((client) => client.unsubscribe(channel));
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}
