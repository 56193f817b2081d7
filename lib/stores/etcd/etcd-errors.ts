/**
 * Turns any failure of a call to etcd into an error of this library.
 *
 * Guarantee: neither the message nor the cause holds a password or a token, even if a server
 * repeats them.
 */
import { isSnowflakeError, type SnowflakeError } from '../../errors.js';
import { plainCause, printable } from '../../messages.js';
import { later, never, refusalError, refusalIn, type Refusal } from '../refusals.js';

export interface EtcdWhere {
  /** The host and port, for messages. */
  readonly where: string;
  /** Passwords and tokens, which a response may repeat. */
  readonly secrets: readonly string[];
}

const SAID_LENGTH_MAX = 300;

/** @param cause an error of Node, or the text of the response */
export function etcdError(cause: unknown, { where, secrets }: EtcdWhere): SnowflakeError {
  if (isSnowflakeError(cause)) return cause;
  const error = plainCause(firstOf(cause), secrets);
  const code = (error as { code?: unknown }).code;
  const said = printable((error.message || String(code)).slice(0, SAID_LENGTH_MAX));
  const texts = [said, typeof code === 'string' ? code : ''];
  const plain = said.replace(/^etcdserver: /, '');
  const place = { name: `etcd at ${where}`, where, secrets };
  return refusalError({ place, cause: error, said: plain }, refusalIn(REFUSALS, texts)!);
}

/** A host with several addresses fails with one error for each, and no message. */
function firstOf(cause: unknown): unknown {
  const { errors } = (cause ?? {}) as { errors?: unknown };
  return Array.isArray(errors) && errors.length > 0 ? errors[0] : cause;
}

/** True if etcd answered with one of these errors. */
export function hasRefusal(error: unknown, ...refusals: readonly (keyof typeof REFUSALS)[]) {
  return (
    isSnowflakeError(error) && (refusals as readonly unknown[]).includes(error.details['refusal'])
  );
}

/** True if another member may succeed although this one failed. */
export function isOfMember({ details }: SnowflakeError): boolean {
  const refusals: Readonly<Record<string, EtcdRefusal>> = REFUSALS;
  return refusals[String(details['refusal'])]?.isOfMember === true;
}

interface EtcdRefusal extends Refusal {
  /** True if another member may succeed. */
  readonly isOfMember?: boolean;
}

const ofMember = (refusal: Refusal): EtcdRefusal => ({ ...refusal, isOfMember: true });

/** Errors of etcd, its gateway and the network. */
export const REFUSALS = {
  'wrong-password': never(
    /authentication failed, invalid user ID or password/,
    'etcd refused the login. Check user and password of the support.',
  ),
  'no-authentication': never(
    /authentication is not enabled/,
    'The support names a user, but this etcd has no users: is it the right one? Enable ' +
      'authentication, or leave user and password out in every process.',
  ),
  'no-user': never(
    /user name is empty|user name not found/,
    'etcd requires a user, but the support names none. Put user and password in the URL. ' +
      'The common name of a client certificate is no user here: the gateway does not pass it on.',
  ),
  'login-expired': ofMember(
    later(
      /invalid auth token|revision of auth store is old/,
      'etcd rejected the login at once, and a fresh one as well. It will be tried again.',
    ),
  ),
  permission: never(
    /permission denied/,
    'The user lacks a permission. It needs a role with readwrite on the prefix of the keys.',
  ),
  'no-space': later(
    /database space exceeded/,
    'etcd is full and refuses writes. Compact and defragment it, then disarm the alarm: ' +
      'etcdctl alarm disarm. Set --auto-compaction-retention.',
  ),
  'txn-limit': never(
    /too many operations in txn/,
    'etcd allows fewer than 128 operations in a transaction. Raise --max-txn-ops to 128.',
  ),
  'no-lease': later(
    /requested lease not found/,
    'The lease of a lock ended before it was used: etcd is too slow. It is asked again.',
  ),
  compacted: later(
    /required revision (has been compacted|is a future revision)/,
    'What was being read has just been compacted, or is not written yet. It will be read again.',
  ),
  corrupt: never(
    /corrupt cluster|CORRUPT/,
    'etcd reports that its data is corrupt. Repair or restore it.',
  ),
  'no-leader': ofMember(
    later(
      /no leader|leader changed|not leader|request timed out|too many requests|stopped/i,
      'etcd has no leader with a majority, or is overloaded. Check its members.',
    ),
  ),
  redirect: ofMember(
    never(
      /^answered by a redirect/,
      'This is not a member of etcd. Put the addresses of the members in the URL.',
    ),
  ),
  'no-gateway': ofMember(
    never(
      /^answered 404/,
      'The registry needs the JSON gateway of etcd 3.4 or later, which is on unless etcd is ' +
        'started with --enable-grpc-gateway=false. Is this the client port?',
    ),
  ),
  'not-etcd': ofMember(
    later(
      /^(answered with something other than JSON|left out)/,
      'This is not a response of etcd. Check whether the URL leads to a proxy or another server.',
    ),
  ),
  'no-date': ofMember(
    never(
      /^answered no Date/,
      'The Date header is the clock of the registry, and etcd sends it. Something in between ' +
        'removes it. Let the Date header through.',
    ),
  ),
  'one-member': later(
    /^answered by another member each time/,
    'A proxy is spreading single requests over the members. Name the members, or balance ' +
      'connections.',
  ),
  lost: later(
    /^was restored/,
    'What was just written does not count. It will be asked again, as after a loss of data.',
  ),
  tls: ofMember(
    never(
      /certificate|\bCERT_|SSL routines|wrong version number|TLS connection|EPROTO|ERR_TLS/i,
      'The TLS handshake failed. Check that the port speaks TLS, that its certificate is valid ' +
        'for this host (or `servername`), that `ca` is its authority, and whether etcd asks for ' +
        'a client certificate.',
    ),
  ),
  'too-large': ofMember(later(/^TOO_LARGE$/, 'No registry is that large. Is it another server?')),
  crowded: ofMember(
    later(
      /^not sent within/,
      'etcd could not answer that many requests in time. Check etcd, or ask for fewer leases at ' +
        'once in one process.',
    ),
  ),
  late: ofMember(later(/^LATE$/, 'Check that the members of etcd run, or raise requestTimeoutMs.')),
  'not-http': ofMember(
    later(
      /Parse Error|socket hang up/,
      'What listens there does not speak HTTP, or has just ended. Is this the client port of ' +
        'etcd (2379), and is it to be asked by etcds:// (TLS)?',
    ),
  ),
  unreachable: ofMember(later(/^/, 'Check that etcd runs and can be reached from this host.')),
};
