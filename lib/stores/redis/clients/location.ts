/**
 * Describes the place of a registry: server and database, and the secrets to be left out.
 *
 * Guarantee: the database is one that the configuration asks for.
 */
import { SnowflakeError } from '../../../errors.js';
import { format } from '../../../messages.js';

export interface RedisLocation {
  /** The location in messages, without a password. */
  readonly where: string;
  readonly db: number;
  /** Passwords, which an answer of the server may repeat. */
  readonly secrets: readonly string[];
}

export interface Login {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly password?: unknown;
}

/** A host that could be anything else than a host is not shown. */
const PLAIN_HOST = /^[\p{L}\p{N}._:%-]+$/u;
const UNNAMED = 'the given client';

/** @param db undefined for a Cluster, which has one */
export function locationOf(
  servers: readonly Login[] | string,
  db: number | undefined,
  secrets: readonly unknown[],
): RedisLocation {
  const hosts = typeof servers === 'string' ? servers : servers.map(hostText).join(',') || UNNAMED;
  const where = db === undefined ? hosts : `${hosts}, database ${db}`;
  const texts = secrets.filter((one): one is string => typeof one === 'string' && one !== '');
  return { where, db: db ?? 0, secrets: texts };
}

function hostText({ host, port = 6379 }: Login): string {
  if (typeof host !== 'string' || !PLAIN_HOST.test(host)) return UNNAMED;
  return `${host}:${Number(port)}`;
}

/** @throws SnowflakeError CONFIG_INVALID */
export function databaseOf(option: string, asked: unknown): number {
  const db = asked ?? 0;
  if (Number.isSafeInteger(db) && (db as number) >= 0) return db as number;
  throw invalidClient(
    `its option \`${option}\` is ${format(db)}, which is not the number of a database`,
  );
}

/** @throws SnowflakeError CONFIG_INVALID where a Cluster is asked for another database */
export function refuseDatabase(option: string, asked: unknown): void {
  if ((asked ?? 0) === 0) return;
  throw invalidClient(
    `a Cluster has only database 0, but its \`${option}\` asks for ${format(asked)}`,
  );
}

export function invalidClient(fault: string): SnowflakeError {
  return new SnowflakeError('CONFIG_INVALID', `The given Redis client cannot be used: ${fault}.`);
}
