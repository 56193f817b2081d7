/**
 * Turns any failure of a call to Redis into one of our errors.
 *
 * Guarantee: neither the message nor the cause holds an argument of a command or a password. The
 * errors of a client hold both: AUTH and its arguments among them, even correct ones.
 */
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { plainCause, withoutSecrets } from '../../messages.js';
import { type RedisLocation, replyIn } from './clients/redis-client.js';

/** The fields of errors of ioredis and Node besides the message. */
interface ClientError extends Error {
  readonly code?: unknown;
  readonly lastNodeError?: unknown;
}

/** @param lastError what the connection said last; a command only says that there is none. */
export function redisError(
  cause: unknown,
  location: RedisLocation,
  lastError?: Error,
): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const command = nodeError(cause);
  const reason: ClientError = replyIn(command) ?? nodeError(lastError ?? command);
  const said = saidBy(reason);
  const [name, refusal] = refusalOf(reason, said);
  const { where, secrets } = location;
  const plain = withoutSecrets(said.replace(/[.\s]+$/, ''), secrets);
  return new SnowflakeError('STORE_UNAVAILABLE', `Redis at ${where}: ${plain}. ${refusal.advice}`, {
    retryable: refusal.retryable,
    cause: plainCause(reason, secrets),
    details: { where, refusal: name },
  });
}

/** A Cluster says that all nodes failed, and keeps to itself what the last of them said. */
function nodeError(error: unknown): ClientError {
  const last = (error as ClientError | undefined)?.lastNodeError;
  if (last instanceof Error) return last;
  return error instanceof Error ? error : new Error(String(error));
}

/** The client puts the first before what the server said, Redis before 7 the second. */
const PREFIXES = [/^Ready check failed: /, /^ERR Error running script \([^)]*\): @\S+: ?\d+: -?/];

function saidBy(error: ClientError): string {
  // It says how often it tried, which is once, and nothing of why.
  if (error.name === 'MaxRetriesPerRequestError') return 'the connection was closed';
  const said = error.message || (typeof error.code === 'string' ? error.code : error.name);
  return PREFIXES.reduce((text, prefix) => text.replace(prefix, ''), said);
}

const UNEXPECTED: Refusal = {
  says: /^/,
  advice: 'Redis gave an unexpected answer. See its log.',
  retryable: true,
};

function refusalOf(reason: ClientError, said: string): [RefusalName | 'unexpected', Refusal] {
  const code = typeof reason.code === 'string' ? reason.code : '';
  for (const [name, refusal] of Object.entries(REFUSALS) as [RefusalName, Refusal][]) {
    if (name === 'unreachable' && replyIn(reason) !== undefined) return ['unexpected', UNEXPECTED];
    if (refusal.says.test(said) || refusal.says.test(code)) return [name, refusal];
  }
  return ['unexpected', UNEXPECTED];
}

/**
 * Refusals of Redis, a Sentinel and the client between them, with what to do about each.
 *
 * Guarantee: a fault that passes with time is retryable, one that a person must remove is not. The
 * first line that fits counts; the last one fits any failure that is no answer of a server.
 * `details.refusal` names it.
 */
interface Refusal {
  readonly says: RegExp;
  readonly advice: string;
  /** False where trying again cannot help. */
  readonly retryable: boolean;
}

export const REFUSALS = {
  'sentinel-login': {
    says: /^All sentinels are unreachable.*\b(NOAUTH|WRONGPASS|NOPERM)\b/,
    advice:
      'The Sentinel refused the login, which is separate from that of Redis. Write ' +
      'sentinelPassword=... (and sentinelUsername=...) after the ? of the URL, or pass a client.',
    retryable: false,
  },
  'no-password': {
    // Redis takes no script of a stranger for more than a protocol error.
    says: /^NOAUTH|^ERR Protocol error: unauthenticated/,
    advice: 'Redis asks for a password, and the support gives none. Write it into the URL.',
    retryable: false,
  },
  'wrong-password': {
    says: /^(WRONGPASS|ERR invalid password|ERR AUTH)/,
    advice: 'Redis refused the password. Check user and password of the support.',
    retryable: false,
  },
  permission: {
    says: /^NOPERM|^ERR .*(can't run this command|can't access at least one|ACL failure in script)/,
    advice:
      'The user lacks a permission. The registry needs EVAL, EVALSHA, HSET, HGET, HMGET, ' +
      'HSCAN, HDEL, TIME and INFO on its one key, and SELECT for a database other than 0. If ' +
      'INFO alone cannot be given, see `keepsWrites`; Valkey GLIDE does not connect without ' +
      '+info|replication.',
    retryable: false,
  },
  database: {
    says: /^ERR (DB index is out of range|invalid DB index|SELECT is not allowed)/,
    advice:
      'The server has no database of that number, so nothing was leased. Correct the number in ' +
      'every process, or use database 0 and a namespace.',
    retryable: false,
  },
  'wrong-type': {
    says: /^WRONGTYPE/,
    advice:
      'The key of the registry holds something else. Choose another namespace or prefix in ' +
      'every process, or remove what is there.',
    retryable: false,
  },
  'unknown-command': {
    says: /^ERR (unknown command|Unknown Redis command|This Redis command is not allowed)/i,
    advice:
      'This server does not offer a command that the registry needs: EVAL, EVALSHA, HSET, HGET, ' +
      'HMGET, HSCAN, HDEL, TIME, INFO. Some managed and renamed ones do not; use another ' +
      'server, or if it is INFO alone, see `keepsWrites`.',
    retryable: false,
  },
  'unknown-server': {
    says: /^NOSERVER/,
    advice:
      'This server hides from scripts which server it is (run_id and master_replid of INFO), so ' +
      'nobody would notice that a failover forgot what was granted. Use a server that tells ' +
      'them, or another store; where no part of the writes is ever lost, say so: `keepsWrites`.',
    retryable: false,
  },
  'not-durable': {
    says: /^NOFILE/,
    advice:
      'A restart loses everything since the last save, however much was granted by then, so no ' +
      'position is granted. Switch it on (appendonly yes), also in its configuration file, or ' +
      'set `lossWindowMs` to the age of the oldest write that can be lost.',
    retryable: false,
  },
  'new-file': {
    says: /^NEWFILE/,
    advice:
      'If the file was switched off and on again, a restart loses what is granted before a ' +
      'rewrite has ended, so no position is granted until then. If this lasts, see the log of ' +
      'Redis and its disk, and send it BGREWRITEAOF.',
    retryable: true,
  },
  'cluster-node': {
    says: /^(MOVED|ASK) /,
    advice: 'This server is a node of a Cluster. Use redis+cluster:// or pass a Cluster client.',
    retryable: false,
  },
  'no-cluster': {
    says: /^ERR This instance has cluster support disabled/,
    advice: 'This is a single Redis. Use redis:// or pass a client that is no Cluster.',
    retryable: false,
  },
  'no-sentinel': {
    says: /^All sentinels are unreachable.*unknown command.*sentinel/i,
    advice:
      'What answers there is no Sentinel, but perhaps the Redis itself. Name the Sentinels, ' +
      'whose port is 26379 by default, or use redis:// for a single Redis.',
    retryable: false,
  },
  'no-redis': {
    says: /^Protocol error, got/,
    advice: 'What answers there is no Redis. Check host and port.',
    retryable: false,
  },
  'no-tls-port': {
    says: /^no TLS connection within/,
    advice:
      'A Redis without TLS on that port waits for ever for the rest of what it takes for a ' +
      'command. Check that the port speaks TLS; use redis:// if it does not.',
    retryable: true,
  },
  'protected-mode': {
    says: /^DENIED/,
    advice:
      'Redis serves only its own host until it has a password or a bind address. See its log.',
    retryable: false,
  },
  replica: {
    says: /^READONLY/,
    advice:
      'This server is a read-only replica. Name the master, or use redis+sentinel:// or ' +
      'redis+cluster:// so that it is found after a failover.',
    retryable: true,
  },
  'out-of-memory': {
    says: /^OOM/,
    advice: 'Redis is out of memory and refuses writes. Raise maxmemory or remove other data.',
    retryable: true,
  },
  'not-ready': {
    says: /^(LOADING|BUSY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)/,
    advice: 'Redis is not ready yet.',
    retryable: true,
  },
  'too-few-replicas': {
    says: /^NOREPLICAS/,
    advice: 'Redis refuses writes while too few replicas are connected. Check the replicas.',
    retryable: true,
  },
  disk: {
    says: /^MISCONF/,
    advice: 'Redis refuses writes because it cannot save to disk. See its log.',
    retryable: true,
  },
  'too-many-clients': {
    says: /^ERR max number of clients/,
    advice: 'Redis takes no more connections. Raise maxclients or close idle clients.',
    retryable: true,
  },
  tls: {
    says: /certificate|\bCERT_|SSL routines|wrong version number|TLS connection was established/i,
    advice:
      'The TLS handshake failed. Check that the port speaks TLS and that its certificate is ' +
      'valid for this host; for a private CA pass a client with `tls: { ca }`.',
    retryable: false,
  },
  unreachable: {
    says: /^/,
    advice:
      'Check that Redis runs and can be reached from this host. Another server may listen there; ' +
      'a port with TLS needs rediss://, one without it redis://.',
    retryable: true,
  },
} as const satisfies Readonly<Record<string, Refusal>>;

export type RefusalName = keyof typeof REFUSALS;
