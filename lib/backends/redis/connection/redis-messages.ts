/**
 * The messages of channels, over a connection that carries nothing else: Redis takes no scripts on
 * one that listens.
 */
import { ClientLife } from './client-life.js';
import type { RedisClient } from './redis-client.js';
import { RedisConnection } from './redis-connection.js';
import type { RedisPlace } from './redis-place.js';

export class RedisMessages {
  readonly #connection: RedisConnection;
  #hear: (channel: string) => void = () => undefined;

  constructor(build: () => Promise<RedisClient>, place: RedisPlace) {
    const listening = async () => {
      const client = await build();
      client.on('message', (channel: string) => this.#hear(channel));
      return client;
    };
    this.#connection = new RedisConnection(() => new ClientLife(listening), place);
  }

  /** Each message's channel, of those subscribed. */
  hear(message: (channel: string) => void): void {
    this.#hear = message;
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
