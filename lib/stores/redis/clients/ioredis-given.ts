/**
 * A client of ioredis or iovalkey by its shape: what it was made with, and where it leads.
 */
import { format } from '../../../messages.js';
import {
  databaseOf,
  invalidClient,
  locationOf,
  refuseDatabase,
  type Login,
  type RedisLocation,
} from './location.js';

export interface NodeOptions extends Login {
  readonly db?: unknown;
  readonly tls?: unknown;
  readonly reconnectOnError?: ((error: Error) => unknown) | null;
}

/** Of a client; those of a Cluster have the options of its nodes in them. */
export interface GivenOptions extends NodeOptions {
  readonly path?: unknown;
  readonly redisOptions?: NodeOptions;
  readonly sentinels?: readonly { readonly host?: string; readonly port?: number }[] | null;
  readonly name?: string;
  readonly sentinelUsername?: string | null;
  readonly sentinelPassword?: string | null;
  readonly sentinelTLS?: object;
}

/** Where a client leads, by shape. */
export interface GivenIoredis {
  readonly isCluster?: boolean;
  readonly options?: GivenOptions;
  /** Of a Cluster. */
  readonly startupNodes?: readonly Login[];
  /** The state of a connection, also while it connects again. */
  readonly prevCondition?: { readonly select?: unknown } | null;
  readonly condition?: { readonly select?: unknown } | null;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function locate(client: GivenIoredis): RedisLocation {
  const { options = {}, startupNodes = [] } = client;
  const logins: (Login | undefined)[] = [options, options.redisOptions, ...startupNodes];
  const secrets = [...logins.map((login) => login?.password), options.sentinelPassword];
  if (client.isCluster) {
    refuseDatabase('redisOptions.db', options.redisOptions?.db);
    return locationOf(startupNodes, undefined, secrets);
  }
  const db = databaseOf('db', options.db);
  const selected = (client.prevCondition ?? client.condition)?.select ?? db;
  if (selected !== db) {
    throw invalidClient(
      `it was configured with database ${db} and then switched to ${format(selected)} ` +
        `by select(), which other processes and its own next connection need not follow; write ` +
        `the number as its option \`db\``,
    );
  }
  const { sentinels, path } = options;
  const isSocket = typeof path === 'string' && path !== '';
  return locationOf(isSocket ? path : (sentinels ?? [options]), db, secrets);
}
