/**
 * Sends scripts to Redis over a client that users may share. A user joins at the first call and
 * leaves with close().
 *
 * Guarantee: a script is one atomic step in the configured database, over any connection. It is
 * sent by its hash, and as text if the server does not have it. Every failure is a SnowflakeError
 * with the location and the reason. Nothing is sent or awaited after close().
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

/** This many calls keep the connection busy, and still get responses within some milliseconds. */
export const UNDER_WAY_MAX = 128;

/** A call that waits for the client, for its turn or for its response. */
interface OpenCall {
  /** @param ended is called after the response, whatever it is */
  readonly send: (client: RedisClient, ended: () => void) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * The calls of one user of a shared client, from the first one to close(). Many calls of one user
 * therefore do not delay each call of another.
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

  /** After the end, every call fails at once. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const call of this.#open) call.fail(new Error('closed'));
    // The client may continue for other users.
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
  /** The client's package, once it has sent a call. */
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

  /** The last error of the connection. While a call waits, it is the only report. */
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
   * Allows calls again, for users that close the connection again. Otherwise, calls after close()
   * are rejected.
   */
  reopen(): void {
    if (this.#session.isOver) this.#session = new Session();
  }

  /** @param key of the call, if any */
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
   * Selects the database inside the script. The error of a separate SELECT could go unnoticed, or
   * the selection could be lost with a replaced connection. The script also sets Sentinel's
   * failover number, which has no fixed position among the arguments.
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
 * The messages of channels, over a separate connection, because Redis runs no scripts on a
 * subscribed one.
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

  /** Sets the function that receives the channel of each message. */
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
