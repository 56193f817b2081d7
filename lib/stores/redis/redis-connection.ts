/**
 * How scripts get to Redis: over a client that may be shared, joined at the first call and left by
 * close().
 *
 * Guarantee: a script is one atomic step in the database that was asked for, whatever connection
 * carries it; it is sent by its hash and, where the server does not know it, by its text. Every
 * failure is a SnowflakeError that says where and why. Nothing is sent or waited for after close().
 */
import { createHash } from 'node:crypto';
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

/** A call that waits for the client, for its turn or for its answer. */
interface OpenCall {
  /** @param ended is called when it is answered, whatever the answer */
  readonly send: (client: RedisClient, ended: () => void) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * The calls from the first one to close(), of one user of a client that others may use as well: a
 * crowd of one user does not stand before each call of another.
 */
class Session {
  readonly #open = new Set<OpenCall>();
  readonly #waiting = new Set<() => void>();
  #sentCount = 0;
  isOver = false;
  life?: ClientLife;

  take(call: OpenCall, life: ClientLife): void {
    this.#open.add(call);
    const client = life.readyClient;
    if (client !== undefined) return this.#enter(call, client);
    const failed = (error: unknown) => this.#open.delete(call) && call.fail(error);
    void life.ready().then((ready) => this.#enter(call, ready), failed);
  }

  /** After the end every call fails at once. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const call of this.#open) call.fail(new Error('closed'));
    // It may live on for others.
    this.life?.end();
  }

  #enter(call: OpenCall, client: RedisClient): void {
    const send = () => {
      if (this.isOver) return;
      this.#sentCount++;
      call.send(client, () => this.#leave(call));
    };
    if (this.#sentCount < UNDER_WAY_MAX) send();
    else this.#waiting.add(send);
  }

  #leave(call: OpenCall): void {
    this.#open.delete(call);
    this.#sentCount--;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
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
    const call = (client: RedisClient) => {
      const { sha1, lua } = this.#bound(script, session.life?.epoch ?? 0);
      const byText = (error: unknown) => {
        if (!isUnknownScript(error) || session.isOver) throw error;
        return client.call(['eval', lua, ...rest], key);
      };
      return client.call(['evalsha', sha1, ...rest], key).catch(byText) as Promise<unknown[]>;
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
  ask<T>(call: (client: RedisClient) => Promise<T>, key?: string): Promise<T> {
    const session = this.#session;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown) => reject(this.#failed(error, session));
      const send = (client: RedisClient, ended: () => void) => {
        this.library = client.library;
        const heard = session.life!.asks(this.kind === 'cluster' ? key : undefined);
        const answered = (answer: T) => {
          heard();
          ended();
          resolve(answer);
        };
        const failed = (error: unknown) => {
          heard(error);
          ended();
          fail(error);
        };
        try {
          call(client).then(answered, failed);
        } catch (error) {
          failed(error);
        }
      };
      if (session.isOver) fail(undefined);
      else session.take({ send, fail }, (session.life ??= this.#join()));
    });
  }

  #failed(error: unknown, session: Session): Error {
    if (session.isOver) return closedError(`Redis at ${this.where}`, this.where);
    return redisError(error, this.#location, session.life?.lastError);
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
