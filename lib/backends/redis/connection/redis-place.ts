/**
 * Where a registry lies: server and database, in words, and what must not appear in them.
 *
 * Promise: the database is one that was asked for in the configuration. A client that was switched
 * to another one while it ran is refused: other processes would not follow.
 */
import { SnowflakeError } from '../../../errors.js';
import { shown } from '../../../shown.js';
import type { GivenClient } from './redis-client.js';
import type { RedisUrl } from './redis-url.js';

export interface RedisPlace {
  /** For messages; without a password. */
  readonly where: string;
  readonly db: number;
  /** Passwords, which an answer of the server may repeat. */
  readonly secrets: readonly string[];
}

/** A host that could be anything else than a host is not shown. */
const PLAIN_HOST = /^[\p{L}\p{N}._:%-]+$/u;

export function placeOfUrl(url: RedisUrl): RedisPlace {
  const { kind, hosts, db, password, sentinelPassword } = url;
  const where = withDatabase(hosts.map(hostText).join(','), kind === 'cluster' ? undefined : db);
  return { where, db, secrets: textsAmong([password, sentinelPassword]) };
}

interface Login {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly password?: unknown;
}

interface GivenOptions extends Login {
  readonly path?: unknown;
  readonly db?: unknown;
  readonly sentinels?: readonly Login[] | null;
  readonly sentinelPassword?: unknown;
  readonly redisOptions?: Login & { readonly db?: unknown };
}

/** @throws SnowflakeError CONFIG_INVALID */
export function placeOfClient(client: GivenClient): RedisPlace {
  const options = (client.options ?? {}) as GivenOptions;
  const nodes = (client as { startupNodes?: readonly unknown[] }).startupNodes ?? [];
  const logins = [options, options.redisOptions, ...nodes] as (Login | undefined)[];
  const passwords = logins.map((login) => login?.password);
  const secrets = textsAmong([...passwords, options.sentinelPassword]);
  if (client.isCluster) {
    refuseClusterDatabase(options.redisOptions?.db);
    return { where: hostList(nodes as Login[]), db: 0, secrets };
  }
  const db = configuredDatabase(client, options.db);
  const { sentinels, path } = options;
  const isSocket = typeof path === 'string' && path !== '';
  const server = isSocket ? path : hostList(sentinels ?? [options]);
  return { where: withDatabase(server, db), db, secrets };
}

function configuredDatabase(client: GivenClient, asked: unknown): number {
  const db = asked ?? 0;
  if (!Number.isSafeInteger(db) || (db as number) < 0) {
    throw invalidClient(`its option \`db\` is ${shown(db)}, which is not the number of a database`);
  }
  // Where a client of ioredis stands, also while it connects again.
  const { prevCondition, condition } = client as {
    prevCondition?: { select?: unknown } | null;
    condition?: { select?: unknown } | null;
  };
  const selected = (prevCondition ?? condition)?.select ?? db;
  if (selected !== db) {
    throw invalidClient(
      `it was configured with database ${db as number} and then switched to ${shown(selected)} ` +
        `by select(), which other processes and its own next connection need not follow; write ` +
        `the number as its option \`db\``,
    );
  }
  return db as number;
}

function refuseClusterDatabase(db: unknown): void {
  if (db === undefined || db === null || db === 0) return;
  throw invalidClient(`a Cluster has only database 0, but its redisOptions ask for ${shown(db)}`);
}

function withDatabase(server: string, db: number | undefined): string {
  return db === undefined ? server : `${server}, database ${db}`;
}

function hostList(logins: readonly Login[]): string {
  return logins.length === 0 ? 'the given client' : logins.map(hostText).join(',');
}

function hostText({ host, port }: Login): string {
  if (typeof host !== 'string' || !PLAIN_HOST.test(host)) return 'the given client';
  return `${host}:${Number(port)}`;
}

function textsAmong(values: readonly unknown[]): string[] {
  return values.filter((value): value is string => typeof value === 'string' && value !== '');
}

function invalidClient(fault: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', `The given Redis client cannot be used: ${fault}.`);
}
