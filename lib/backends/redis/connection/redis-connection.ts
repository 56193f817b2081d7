/**
 * How scripts get to Redis: over a client that may be shared, joined at the first call and left by
 * close().
 *
 * Promise: a script is one atomic step in the database that was asked for, whatever connection
 * carries it; it is sent by its hash and, where the server does not know it, by its text. Every
 * failure is a SnowflakeError that says where and why. Nothing is sent or waited for after close().
 */
import { createHash } from 'node:crypto';
import { SnowflakeError } from '../../../errors.js';
import { CallLine } from './call-line.js';
import type { ClientUse } from './client-life.js';
import { UNKNOWN_SCRIPT, type RedisClient } from './redis-client.js';
import { redisError } from './redis-error.js';
import type { RedisPlace } from './redis-place.js';

export interface Script {
  readonly sha1: string;
  readonly lua: string;
}

/** From the first call to close(). */
interface Life {
  readonly line: CallLine;
  use?: ClientUse;
}

type Value = string | number;

export class RedisConnection {
  readonly #join: () => ClientUse;
  // Not to be seen by whoever prints the support: it holds passwords.
  readonly #place: RedisPlace;
  readonly #boundTo = new Map<string, Script>();
  #life: Life = { line: new CallLine() };

  constructor(join: () => ClientUse, place: RedisPlace) {
    this.#join = join;
    this.#place = place;
  }

  /** Server and database, for messages. */
  get where(): string {
    return this.#place.where;
  }

  run(script: Script, key: string, args: readonly Value[]): Promise<unknown[]> {
    return this.ask((client, line) => {
      const bound = this.#bound(script, this.#life.use?.epoch ?? 0);
      return evaluated(client, line, bound, [key, ...args]);
    });
  }

  info(section: string): Promise<string> {
    return this.ask((client) => client.info(section));
  }

  async close(): Promise<void> {
    const { line, use } = this.#life;
    line.end();
    // It may live on for others.
    use?.end();
  }

  /** For those who will close again. Everybody else is refused after close(). */
  reopen(): void {
    if (this.#life.line.isOver) this.#life = { line: new CallLine() };
  }

  async ask<T>(call: (client: RedisClient, line: CallLine) => Promise<T>): Promise<T> {
    const life = this.#life;
    const { line } = life;
    try {
      const use = () => (life.use ??= this.#join());
      const ready = async () => use().ready();
      return await line.run(ready, (client) => use().answered(call(client, line)));
    } catch (error) {
      if (line.isOver) throw closed(this.#place.where);
      throw redisError(error, this.#place, life.use?.lastError);
    }
  }

  /**
   * A database is chosen inside the step that uses it: a SELECT of its own could be refused
   * unheard, or be lost with a connection that is replaced between the two. So is what Sentinel
   * said of the server, which a script is told in no place of its own among its arguments.
   */
  #bound(script: Script, epoch: number): Script {
    const { db } = this.#place;
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
  line: CallLine,
  script: Script,
  keyAndArgs: readonly Value[],
): Promise<unknown[]> {
  const asked = [1, ...keyAndArgs] as const;
  try {
    return (await client.evalsha(script.sha1, ...asked)) as unknown[];
  } catch (error) {
    if (!(error as Error).message.startsWith(UNKNOWN_SCRIPT)) throw error;
    line.refuseOver();
    return (await client.eval(script.lua, ...asked)) as unknown[];
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
