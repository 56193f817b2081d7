/**
 * The clients of this process that several may use: one for all who name the same Redis.
 *
 * Promise: whoever ends its use ends nothing of another's; the last one ends the client. Neither a
 * client nor what it is known by is to be seen, since both hold passwords.
 */
import { processWide } from '../../../process-wide.js';
import { ClientLife, type ClientUse } from './client-life.js';
import type { RedisClient } from './redis-client.js';

interface SharedClient {
  readonly life: ClientLife;
  readonly uses: Set<ClientUse>;
}

/** What copies of this package call of each other is `join` and what a ClientUse has. */
export class SharedClients {
  readonly #clients = new Map<unknown, SharedClient>();

  /** @param key what the client is made of: all its settings as a text, or a client */
  join(key: string | object, build: () => Promise<RedisClient>): ClientUse {
    const known = this.#clients.get(key);
    const shared = known ?? { life: new ClientLife(build), uses: new Set() };
    const use: ClientUse = {
      get lastError() {
        return shared.life.lastError;
      },
      get epoch() {
        return shared.life.epoch;
      },
      ready: () => shared.life.ready(),
      answered: (answer) => shared.life.answered(answer),
      end: () => this.#leave(key, shared, use),
    };
    this.#clients.set(key, shared);
    shared.uses.add(use);
    return use;
  }

  #leave(key: unknown, shared: SharedClient, use: ClientUse): void {
    if (!shared.uses.delete(use) || shared.uses.size > 0) return;
    // Whoever comes now begins with another.
    this.#clients.delete(key);
    shared.life.end();
  }
}

export const sharedClients = processWide('redis-clients', () => new SharedClients());
