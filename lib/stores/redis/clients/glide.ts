/**
 * Clients of Valkey GLIDE, the package `@valkey/valkey-glide`: one server and Cluster. It knows no
 * Sentinel, and connects again by itself.
 */
import { GlideRedisClient, type Glide, type GlideClass } from './glide-client.js';
import { databaseOf, invalidClient, locationOf } from './location.js';
import type { ClientLibrary } from './redis-client.js';

export const GLIDE: ClientLibrary = {
  hasSentinel: false,
  isClient: (value) => typeof (value as Partial<Glide>).customCommand === 'function',
  // That of a Cluster has it.
  isReplicated: (client) => 'invokeScriptWithRoute' in client,
  locate(client) {
    // Version 1 takes two arguments there, and has other words for what a server answered.
    if ((client as { exec?: { readonly length: number } }).exec?.length === 2) {
      throw invalidClient('it is of Valkey GLIDE 1, of which 2 or later is needed');
    }
    const { addresses = [], databaseId, credentials } = (client as Glide).config ?? {};
    const db = this.isReplicated(client) ? undefined : databaseOf('databaseId', databaseId);
    return locationOf(addresses, db, [credentials?.password]);
  },
  duplicate(client) {
    const { constructor } = Object.getPrototypeOf(client) as { constructor: GlideClass };
    const { config = {} } = client as Glide;
    return new GlideRedisClient(constructor, config, this.isReplicated(client));
  },
  build({ kind, username, password, hosts: addresses, isTls: useTLS }, loaded) {
    const { GlideClient, GlideClusterClient } = loaded as Record<string, GlideClass>;
    const isCluster = kind === 'cluster';
    const made = isCluster ? GlideClusterClient! : GlideClient!;
    const login = password === undefined ? {} : { credentials: { username, password } };
    return new GlideRedisClient(made, { addresses, useTLS, ...login }, isCluster);
  },
};
