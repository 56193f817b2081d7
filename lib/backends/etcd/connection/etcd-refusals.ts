/**
 * What etcd, its gateway and the way to it say when they refuse, and what to do.
 *
 * Promise: what only waiting can cure is retryable, what a person must cure is not. The first line
 * that fits counts. `details.refusal` names it.
 */
export interface Refusal {
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
      'The support gives a user, and this etcd knows none: is it the right one? Enable ' +
      'authentication, or leave user and password out in every process.',
    ...OF_CLUSTER,
  },
  'no-user': {
    says: /user name is empty|user name not found/,
    advice:
      'etcd asks for a user, and the support gives none. Write user and password into the URL. ' +
      'The common name of a client certificate is no user here: the gateway does not pass it on.',
    ...OF_CLUSTER,
  },
  'login-expired': {
    says: /invalid auth token|revision of auth store is old/,
    advice: 'etcd forgot the login at once, and a new one too. It is tried again.',
    ...OF_MEMBER,
  },
  permission: {
    says: /permission denied/,
    advice: 'The user lacks a right. It needs a role with readwrite on the prefix of the keys.',
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
  compacted: {
    says: /required revision has been compacted/,
    advice: 'What was being read has just been compacted. It is read again.',
    retryable: true,
    isOfMember: false,
  },
  corrupt: {
    says: /corrupt cluster|CORRUPT/,
    advice: 'etcd found its data corrupt. Mend or restore it.',
    ...OF_CLUSTER,
  },
  'no-leader': {
    says: /no leader|leader changed|not leader|request timed out|too many requests|stopped/i,
    advice: 'etcd has no leader that a majority follows, or is overloaded. Check its members.',
    ...OF_MEMBER,
  },
  redirect: {
    says: /^answered by a redirect/,
    advice: 'That is no member of etcd. Name the members themselves.',
    retryable: false,
    isOfMember: true,
  },
  'no-gateway': {
    says: /^answered 404/,
    advice:
      'The registry needs the JSON gateway of etcd 3.4 or later, which is on unless etcd is ' +
      'started with --enable-grpc-gateway=false. Is it the port for clients?',
    retryable: false,
    isOfMember: true,
  },
  'not-etcd': {
    says: /^answered (what is not JSON|without)/,
    advice: 'etcd does not answer so. Is there a proxy in between, or another server?',
    ...OF_MEMBER,
  },
  'no-date': {
    says: /^answered no Date/,
    advice:
      'The header Date is the clock of the registry, and etcd sends it. Something in between ' +
      'takes it out; let it through.',
    retryable: false,
    isOfMember: true,
  },
  'one-member': {
    says: /^answered by another member each time/,
    advice: 'A proxy shares single requests out. Name the members, or balance connections.',
    retryable: true,
    isOfMember: false,
  },
  lost: {
    says: /^was restored/,
    advice: 'Nothing that was written just now counts. It is asked again, as after a loss of data.',
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
    advice: 'No registry is as large. Is there another server?',
    ...OF_MEMBER,
  },
  late: {
    says: /^LATE$/,
    advice: 'Check that the members of etcd run, or allow more by requestTimeoutMs.',
    ...OF_MEMBER,
  },
  unreachable: {
    says: /^/,
    advice: 'Check that etcd runs and can be reached from this host.',
    ...OF_MEMBER,
  },
} as const satisfies Readonly<Record<string, Refusal>>;

export type RefusalName = keyof typeof REFUSALS;
