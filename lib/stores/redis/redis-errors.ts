/**
 * Turns any failure of a call to Redis into an error of this library.
 *
 * Guarantee: neither the message nor the cause holds a password or an argument of a command. A
 * client's errors hold both, for example AUTH with its correct arguments.
 */
import { isSnowflakeError, type SnowflakeError } from '../../errors.js';
import { later, never, refusalError, refusalIn, type Refusal } from '../refusals.js';
import { type RedisLocation, replyIn } from './clients/redis-client.js';

/** The fields of errors of ioredis and Node, apart from the message. */
interface ClientError extends Error {
  readonly code?: unknown;
  readonly lastNodeError?: unknown;
}

/** @param lastError of the connection; a command only reports that there is none. */
export function redisError(
  cause: unknown,
  location: Omit<RedisLocation, 'kind'>,
  lastError?: Error,
): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const command = nodeError(cause);
  const reason: ClientError = replyIn(command) ?? nodeError(lastError ?? command);
  const said = saidBy(reason);
  const { where, secrets } = location;
  const place = { name: `Redis at ${where}`, where, secrets };
  return refusalError({ place, cause: reason, said }, refusalOf(reason, said));
}

/** A Cluster client reports that all nodes failed, and hides the error of the last one. */
function nodeError(error: unknown): ClientError {
  const last = (error as ClientError | undefined)?.lastNodeError;
  if (last instanceof Error) return last;
  return error instanceof Error ? error : new Error(String(error));
}

/** The client puts the first prefix before the server's text; Redis before 7 puts the second. */
const PREFIXES = [/^Ready check failed: /, /^ERR Error running script \([^)]*\): @\S+: ?\d+: -?/];

function saidBy(error: ClientError): string {
  // The message contains only the number of tries, which is one, and no reason.
  if (error.name === 'MaxRetriesPerRequestError') return 'the connection was closed';
  const said = error.message || (typeof error.code === 'string' ? error.code : error.name);
  return PREFIXES.reduce((text, prefix) => text.replace(prefix, ''), said);
}

const UNEXPECTED = later(/^/, 'Redis gave an unexpected answer. See its log.');

function refusalOf(reason: ClientError, said: string): readonly [string, Refusal] {
  const code = typeof reason.code === 'string' ? reason.code : '';
  const found = refusalIn(REFUSALS, [said, code])!;
  if (found[0] !== 'unreachable') return found;
  if (replyIn(reason) !== undefined) return ['unexpected', UNEXPECTED];
  return /ECONNREFUSED/.test(`${said} ${code}`) ? ['unreachable', NOBODY_THERE] : found;
}

/** No other server listens there, so the port has nothing to do with it. */
const NOBODY_THERE = later(/^/, 'Check that Redis runs and can be reached from this host.');

/**
 * Errors of Redis, of a Sentinel, and of the client in between. The last one matches any failure
 * without a server's response.
 */
export const REFUSALS = {
  'sentinel-login': never(
    /^All sentinels are unreachable.*\b(NOAUTH|WRONGPASS|NOPERM)\b/,
    'The Sentinel refused the login, which is separate from that of Redis. Write ' +
      'sentinelPassword=... (and sentinelUsername=...) after the ? of the URL, or pass a client.',
  ),
  // Redis rejects a long command of an unauthenticated client with a protocol error.
  'no-password': never(
    /^NOAUTH|^ERR Protocol error: unauthenticated/,
    'Redis asks for a password, and the support gives none. Write it into the URL.',
  ),
  'wrong-password': never(
    /^(WRONGPASS|ERR invalid password|ERR AUTH)/,
    'Redis refused the password. Check user and password of the support.',
  ),
  permission: never(
    /^NOPERM|^ERR .*(can't run this command|can't access at least one|ACL failure in script)/,
    'The user lacks a permission. The registry needs EVAL, EVALSHA, HSET, HGET, HMGET, ' +
      'HSCAN, HDEL, TIME and INFO on its one key, and SELECT for a database other than 0. If ' +
      'INFO alone cannot be given, see `keepsWrites`; Valkey GLIDE does not connect without ' +
      '+info|replication.',
  ),
  database: never(
    /^ERR (DB index is out of range|invalid DB index|SELECT is not allowed)/,
    'The server has no database of that number, so nothing was leased. Correct the number in ' +
      'every process, or use database 0 and a namespace.',
  ),
  'wrong-type': never(
    /^WRONGTYPE/,
    'The key of the registry holds data of another kind. Choose another namespace or prefix in ' +
      'every process, or delete the key.',
  ),
  'unknown-command': never(
    /^ERR (unknown command|Unknown Redis command|This Redis command is not allowed)/i,
    'This server does not offer a command that the registry needs: EVAL, EVALSHA, HSET, HGET, ' +
      'HMGET, HSCAN, HDEL, TIME, INFO. Some managed servers do not, or rename it. Use another ' +
      'server. If only INFO is missing, see `keepsWrites`.',
  ),
  'unknown-server': never(
    /^NOSERVER/,
    'This server hides from scripts which server it is (run_id and master_replid of INFO), so ' +
      'nobody would notice that a failover forgot what was granted. Use a server that tells ' +
      'them, or another store; where no part of the writes is ever lost, say so: `keepsWrites`.',
  ),
  'not-durable': never(
    /^NOFILE/,
    'A restart loses everything since the last save, however much was granted by then, so no ' +
      'position is granted. Switch it on (appendonly yes), also in its configuration file, or ' +
      'set `lossWindowMs` to the age of the oldest write that can be lost.',
  ),
  'new-file': later(
    /^NEWFILE/,
    'If the file was switched off and on again, a restart loses what is granted before a ' +
      'rewrite has ended, so no position is granted until then. If this lasts, see the log of ' +
      'Redis and its disk, and send it BGREWRITEAOF.',
  ),
  'cluster-node': never(
    /^(MOVED|ASK) /,
    'This server is a node of a Cluster. Use redis+cluster:// or pass a Cluster client.',
  ),
  'no-cluster': never(
    /^ERR This instance has cluster support disabled/,
    'This is a single Redis. Use redis:// or pass a client that is no Cluster.',
  ),
  'no-sentinel': never(
    /^All sentinels are unreachable.*unknown command.*sentinel/i,
    'What answers there is no Sentinel, but perhaps the Redis itself. Name the Sentinels, ' +
      'whose port is 26379 by default, or use redis:// for a single Redis.',
  ),
  'no-redis': never(/^Protocol error, got/, 'What answers there is no Redis. Check host and port.'),
  'no-tls-port': later(
    /^no TLS connection within/,
    'A Redis without TLS on that port waits forever for the rest of what it takes for a ' +
      'command. Check that the port speaks TLS; use redis:// if it does not.',
  ),
  'protected-mode': never(
    /^DENIED/,
    'Redis serves only its own host until it has a password or a bind address. See its log.',
  ),
  replica: later(
    /^READONLY/,
    'This server is a replica, which forgets what is written to it. Name the master, or use ' +
      'redis+sentinel:// or redis+cluster:// so that it is found after a failover.',
  ),
  'out-of-memory': later(
    /^OOM/,
    'Redis is out of memory and refuses writes. Raise maxmemory or remove other data.',
  ),
  'not-ready': later(/^(LOADING|BUSY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)/, 'Redis is not ready yet.'),
  'too-few-replicas': later(
    /^NOREPLICAS/,
    'Redis refuses writes while too few replicas are connected. Check the replicas.',
  ),
  disk: later(/^MISCONF/, 'Redis refuses writes because it cannot save to disk. See its log.'),
  'too-many-clients': later(
    /^ERR max number of clients/,
    'Redis takes no more connections. Raise maxclients or close idle clients.',
  ),
  tls: never(
    /certificate|\bCERT_|SSL routines|wrong version number|TLS connection was established/i,
    'The TLS handshake failed. Check that the port speaks TLS and that its certificate is ' +
      'valid for this host; for a private CA pass a client with `tls: { ca }`.',
  ),
  unreachable: later(
    /^/,
    'Check that Redis runs and can be reached from this host. Another server may listen there; ' +
      'a port with TLS needs rediss://, one without it redis://.',
  ),
};

export type RefusalName = keyof typeof REFUSALS;
