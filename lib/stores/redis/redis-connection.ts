/**
 * How scripts get to Redis: over a client that may be shared, joined at the first call and left by
 * close().
 *
 * Guarantee: a script is one atomic step in the database that was asked for, whatever connection
 * carries it; it is sent by its hash and, where the server does not know it, by its text. Every
 * failure is a SnowflakeError that says where and why. Nothing is sent or waited for after close().
 */
import { createHash } from 'node:crypto';
import { FewAtOnce } from '../../time/line.js';
import { closedError } from '../refusals.js';
import { ClientLife } from './client-life.js';
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

/** So many calls keep the connection busy, and are still answered within some milliseconds. */
export const UNDER_WAY_MAX = 128;

/** The calls from the first one to close(), of one user of a client that others may use as well. */
class Session {
  /** A crowd of one user does not stand before each call of another. */
  readonly line = new FewAtOnce(UNDER_WAY_MAX);
  readonly #givingUp = new Set<() => void>();
  isOver = false;
  life?: ClientLife;

  /** After the end every call fails at once. */
  untilOver<T>(call: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new Error('closed'));
      if (this.isOver) return giveUp();
      this.#givingUp.add(giveUp);
      const ended = () => void this.#givingUp.delete(giveUp);
      call().then(resolve, reject).finally(ended);
    });
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const giveUp of this.#givingUp) giveUp();
    // It may live on for others.
    this.life?.end();
  }
}

export class RedisConnection {
  /** Names the server and the database, for messages. */
  readonly where: string;
  readonly kind: RedisLocation['kind'];
  /** The package that got there, once one has. */
  library: LibraryLabel | undefined;
  readonly #join: () => ClientLife;
  // Private, so that printing the support does not show it: it holds passwords.
  readonly #location: RedisLocation;
  readonly #boundTo = new Map<string, Script>();
  #session = new Session();

  constructor(join: () => ClientLife, location: RedisLocation) {
    this.where = location.where;
    this.kind = location.kind;
    this.#join = join;
    this.#location = location;
  }

  /** The last error of the connection: while a call waits, only this reports it. */
  get lastFault(): Error | undefined {
    const fault = this.#session.life?.lastError;
    return fault && (redisError(fault, this.#location).cause as Error);
  }

  run(script: Script, key: string, args: readonly (string | number)[]): Promise<unknown[]> {
    const session = this.#session;
    const rest = ['1', key, ...args.map(String)];
    const call = async (client: RedisClient) => {
      const { sha1, lua } = this.#bound(script, session.life?.epoch ?? 0);
      try {
        return (await client.call(['evalsha', sha1, ...rest], key)) as unknown[];
      } catch (error) {
        if (!isUnknownScript(error) || session.isOver) throw error;
        return (await client.call(['eval', lua, ...rest], key)) as unknown[];
      }
    };
    return this.ask(call, key);
  }

  async info(section: string): Promise<string> {
    return String(await this.ask((client) => client.call(['info', section])));
  }

  async close(): Promise<void> {
    this.#session.end();
  }

  /**
   * Opens the connection again, for users that close it again; else calls are refused after
   * close().
   */
  reopen(): void {
    if (this.#session.isOver) this.#session = new Session();
  }

  /** @param key the one that the call is sent by, if any */
  async ask<T>(call: (client: RedisClient) => Promise<T>, key?: string): Promise<T> {
    const session = this.#session;
    try {
      return await session.untilOver(async () => {
        const life = (session.life ??= this.#join());
        const client = await life.ready();
        this.library = client.library;
        return session.line.run(async () => {
          if (session.isOver) throw new Error('closed');
          return life.answered(call(client), this.kind === 'cluster' ? key : undefined);
        });
      });
    } catch (error) {
      if (session.isOver) throw closedError(`Redis at ${this.where}`, this.where);
      throw redisError(error, this.#location, session.life?.lastError);
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
