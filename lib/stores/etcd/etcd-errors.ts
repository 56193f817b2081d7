/**
 * Turns any failure of a call to etcd into one of our errors.
 *
 * Guarantee: neither the message nor the cause holds a password or a token, even if a server
 * repeats them.
 */
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { plainCause, printable, withoutSecrets } from '../../messages.js';

export interface EtcdWhere {
  /** The host and port, for messages. */
  readonly where: string;
  /** Passwords and tokens, which an answer may repeat. */
  readonly secrets: readonly string[];
}

const SAID_LENGTH_MAX = 300;

/** @param cause an error of Node, or what was answered, in words */
export function etcdError(cause: unknown, { where, secrets }: EtcdWhere): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const error = plainCause(firstOf(cause), secrets);
  const code = (error as { code?: unknown }).code;
  const said = printable((error.message || String(code)).slice(0, SAID_LENGTH_MAX));
  const [name, refusal] = refusalOf([said, typeof code === 'string' ? code : '']);
  const plain = withoutSecrets(said.replace(/^etcdserver: /, '').replace(/\.+$/, ''), secrets);
  return new SnowflakeError('STORE_UNAVAILABLE', `etcd at ${where}: ${plain}. ${refusal.advice}`, {
    retryable: refusal.retryable,
    cause: error,
    details: { where, refusal: name },
  });
}

/** A host with several addresses fails with one error for each, and no message. */
function firstOf(cause: unknown): unknown {
  const { errors } = (cause ?? {}) as { errors?: unknown };
  return Array.isArray(errors) && errors.length > 0 ? errors[0] : cause;
}

function refusalOf(texts: readonly string[]): [RefusalName, Refusal] {
  const rows = Object.entries(REFUSALS) as [RefusalName, Refusal][];
  return rows.find(([, { says }]) => texts.some((text) => says.test(text)))!;
}

/** True if another member may give the answer that this one did not. */
export function isOfMember({ details }: SnowflakeError): boolean {
  const refusal = REFUSALS[details['refusal'] as RefusalName] as Refusal | undefined;
  return refusal?.isOfMember === true;
}

/**
 * Refusals of etcd, its gateway and the way to it, with what to do about each.
 *
 * Guarantee: a fault that passes with time is retryable, one that a person must remove is not. The
 * first line that fits counts. `details.refusal` names it.
 */
interface Refusal {
  readonly says: RegExp;
  readonly advice: string;
  /** False where trying again cannot help. */
  readonly retryable: boolean;
  /** True where another member may well answer. */
  readonly isOfMember: boolean;
}

const OF_MEMBER = { retryable: true, isOfMember: true } as const;
const OF_CLUSTER = { retryable: false, isOfMember: false } as const;

export const REFUSALS = {
  'wrong-password': {
    says: /authentication failed, invalid user ID or password/,
    advice: 'etcd refused the login. Check user and password of the support.',
    ...OF_CLUSTER,
  },
  'no-authentication': {
    says: /authentication is not enabled/,
    advice:
      'The support names a user, but this etcd has no users: is it the right one? Enable ' +
      'authentication, or leave user and password out in every process.',
    ...OF_CLUSTER,
  },
  'no-user': {
    says: /user name is empty|user name not found/,
    advice:
      'etcd requires a user, but the support names none. Put user and password in the URL. ' +
      'The common name of a client certificate is no user here: the gateway does not pass it on.',
    ...OF_CLUSTER,
  },
  'login-expired': {
    says: /invalid auth token|revision of auth store is old/,
    advice: 'etcd rejected the login at once, and a fresh one as well. It will be tried again.',
    ...OF_MEMBER,
  },
  permission: {
    says: /permission denied/,
    advice:
      'The user lacks a permission. It needs a role with readwrite on the prefix of the keys.',
    ...OF_CLUSTER,
  },
  'no-space': {
    says: /database space exceeded/,
    advice:
      'etcd is full and refuses writes. Compact and defragment it, then disarm the alarm: ' +
      'etcdctl alarm disarm. Set --auto-compaction-retention.',
    retryable: true,
    isOfMember: false,
  },
  'txn-limit': {
    says: /too many operations in txn/,
    advice: 'etcd allows fewer than 128 operations in a transaction. Raise --max-txn-ops to 128.',
    ...OF_CLUSTER,
  },
  'no-lease': {
    says: /requested lease not found/,
    advice: 'The lease of a lock ended before it was used: etcd is too slow. It is asked again.',
    retryable: true,
    isOfMember: false,
  },
  compacted: {
    says: /required revision has been compacted/,
    advice: 'What was being read has just been compacted. It will be read again.',
    retryable: true,
    isOfMember: false,
  },
  corrupt: {
    says: /corrupt cluster|CORRUPT/,
    advice: 'etcd reports that its data is corrupt. Repair or restore it.',
    ...OF_CLUSTER,
  },
  'no-leader': {
    says: /no leader|leader changed|not leader|request timed out|too many requests|stopped/i,
    advice: 'etcd has no leader with a majority, or is overloaded. Check its members.',
    ...OF_MEMBER,
  },
  redirect: {
    says: /^answered by a redirect/,
    advice: 'This is not a member of etcd. Name the members themselves.',
    retryable: false,
    isOfMember: true,
  },
  'no-gateway': {
    says: /^answered 404/,
    advice:
      'The registry needs the JSON gateway of etcd 3.4 or later, which is on unless etcd is ' +
      'started with --enable-grpc-gateway=false. Is this the client port?',
    retryable: false,
    isOfMember: true,
  },
  'not-etcd': {
    says: /^(answered with something other than JSON|left out)/,
    advice: 'This is not an answer of etcd. Is it a proxy, or another server?',
    ...OF_MEMBER,
  },
  'no-date': {
    says: /^answered no Date/,
    advice:
      'The Date header is the clock of the registry, and etcd sends it. Something in between ' +
      'removes it. Let the Date header through.',
    retryable: false,
    isOfMember: true,
  },
  'one-member': {
    says: /^answered by another member each time/,
    advice:
      'A proxy is spreading single requests over the members. Name the members, or balance ' +
      'connections.',
    retryable: true,
    isOfMember: false,
  },
  lost: {
    says: /^was restored/,
    advice:
      'What was just written does not count. It will be asked again, as after a loss of data.',
    retryable: true,
    isOfMember: false,
  },
  tls: {
    says: /certificate|\bCERT_|SSL routines|wrong version number|TLS connection|EPROTO|ERR_TLS/i,
    advice:
      'The TLS handshake failed. Check that the port speaks TLS, that its certificate is valid ' +
      'for this host (or `servername`), that `ca` is its authority, and whether etcd asks for a ' +
      'client certificate.',
    retryable: false,
    isOfMember: true,
  },
  'too-large': {
    says: /^TOO_LARGE$/,
    advice: 'No registry is that large. Is it another server?',
    ...OF_MEMBER,
  },
  crowded: {
    says: /^not sent within/,
    advice:
      'etcd could not answer that many requests in time. Check etcd, or ask for fewer leases at ' +
      'once in one process.',
    ...OF_MEMBER,
  },
  late: {
    says: /^LATE$/,
    advice: 'Check that the members of etcd run, or raise requestTimeoutMs.',
    ...OF_MEMBER,
  },
  'not-http': {
    says: /Parse Error|socket hang up/,
    advice:
      'What listens there does not speak HTTP, or has just ended. Is this the client port of ' +
      'etcd (2379), and is it to be asked by etcds:// (TLS)?',
    ...OF_MEMBER,
  },
  unreachable: {
    says: /^/,
    advice: 'Check that etcd runs and can be reached from this host.',
    ...OF_MEMBER,
  },
} as const satisfies Readonly<Record<string, Refusal>>;

type RefusalName = keyof typeof REFUSALS;
