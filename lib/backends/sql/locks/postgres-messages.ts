/**
 * Messages of PostgreSQL, by LISTEN and NOTIFY: over a connection of its own, which is open while
 * somebody waits for a lock.
 *
 * Promise: no connection is taken out of a pool, and none stays open when nobody waits any more.
 */
import type { ReleaseMessages } from '../../../lock/releases.js';
import { systemTimers } from '../../../patience/timers.js';
import { withinLimit } from '../../../patience/within-limit.js';
import { PATIENCE_MS, type ListeningClient } from '../connection/sql-connection.js';

/** From the first who waits to the last. */
interface Listening {
  readonly client: Promise<ListeningClient>;
  readonly channels: Set<string>;
  /** One statement at a time goes over it. */
  last: Promise<unknown>;
}

export class PostgresMessages implements ReleaseMessages {
  readonly #open: () => Promise<ListeningClient>;
  #message: (channel: string) => void = () => undefined;
  #ended: () => void = () => undefined;
  #listening: Listening | undefined;

  constructor(open: () => Promise<ListeningClient>) {
    this.#open = open;
  }

  hear(message: (channel: string) => void, ended: () => void): void {
    [this.#message, this.#ended] = [message, ended];
  }

  async subscribe(channel: string): Promise<void> {
    const listening = (this.#listening ??= this.#begin());
    listening.channels.add(channel);
    await this.#tell(listening, `LISTEN ${channel}`);
  }

  async unsubscribe(channel: string): Promise<void> {
    const listening = this.#listening;
    if (listening?.channels.delete(channel) !== true) return;
    if (listening.channels.size === 0) this.#end(listening);
    else await this.#tell(listening, `UNLISTEN ${channel}`);
  }

  async close(): Promise<void> {
    if (this.#listening !== undefined) this.#end(this.#listening);
  }

  #begin(): Listening {
    const client = this.#open();
    const listening: Listening = { client, channels: new Set(), last: client };
    const ended = () => this.#missed(listening);
    client.then((opened) => opened.hear(this.#message, ended), ended);
    return listening;
  }

  /** What is not answered in time ends the connection, so that nothing waits behind it. */
  async #tell(listening: Listening, sql: string): Promise<void> {
    const { client, last } = listening;
    const told = last.then(async () => (await client).query(sql, []));
    listening.last = told;
    const over = (): never => {
      throw new Error(`PostgreSQL did not answer ${sql}.`);
    };
    try {
      await withinLimit(told, { ms: PATIENCE_MS, timers: systemTimers, over });
    } catch (error) {
      this.#missed(listening);
      throw error;
    }
  }

  #missed(listening: Listening): void {
    if (this.#listening !== listening) return;
    this.#end(listening);
    this.#ended();
  }

  #end(listening: Listening): void {
    if (this.#listening === listening) this.#listening = undefined;
    // One that was never open has no end.
    listening.client.then((opened) => opened.destroy()).catch(() => undefined);
  }
}
