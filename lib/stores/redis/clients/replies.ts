/**
 * What a server answered, whichever library brought it: its errors, and the fields of a map.
 *
 * Guarantee: what a client says of its connection is never taken for an answer of the server.
 */

/** Redis begins its answer so if it does not know a script by its hash. */
const UNKNOWN_SCRIPT = 'NOSCRIPT';

export function isUnknownScript(error: unknown): boolean {
  return replyIn(error)?.message.startsWith(UNKNOWN_SCRIPT) === true;
}

/** The answer of a server that refused, as it said it; undefined for any other failure. */
export function replyIn(error: unknown): Error | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error.name === 'ReplyError' || isErrorReply(error)) return error;
  // The second is what GLIDE throws where it could not connect.
  return ['RequestError', 'ClosingError'].includes(error.name) ? replyOfGlide(error) : undefined;
}

/** Whether a client has waited for an answer as long as its options say, and gave up. */
export function isTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.constructor.name === 'TimeoutError' || error.message === 'Command timed out';
}

/** node-redis has a class for what a server answers, and a name for some of those below it. */
function isErrorReply(error: Error): boolean {
  for (let at = Object.getPrototypeOf(error) as object | null; at !== null;) {
    if (at.constructor.name === 'ErrorReply') return true;
    at = Object.getPrototypeOf(at) as object | null;
  }
  return false;
}

/** GLIDE has names of its own for some answers of a server. */
const CODES: Readonly<Record<string, string>> = {
  NoScriptError: UNKNOWN_SCRIPT,
  ResponseError: 'ERR',
  ReadOnly: 'READONLY',
  Moved: 'MOVED',
  Ask: 'ASK',
  BusyLoadingError: 'LOADING',
  PermissionDenied: 'NOPERM',
  TryAgain: 'TRYAGAIN',
  ClusterDown: 'CLUSTERDOWN',
  MasterDown: 'MASTERDOWN',
  AuthenticationFailed: 'WRONGPASS',
};

/** By itself, by a node as it was connected to, or by the nodes of a Cluster. */
const BEFORE = '^|signalled by the server: - |for address `[^`]*`: |received errors: `';
const SAID_TO_GLIDE = new RegExp(`(?:${BEFORE})([A-Za-z]+): ?([^\\n\`]*)`);

function replyOfGlide(error: Error): Error | undefined {
  const [, code, text] = SAID_TO_GLIDE.exec(error.message) ?? [];
  if (code === undefined) return undefined;
  const name = CODES[code] ?? (/^[A-Z]+$/.test(code) ? code : undefined);
  if (name === undefined) return undefined;
  return Object.assign(new Error(`${name} ${text}`, { cause: error }), { name: 'ReplyError' });
}

/** A field of a map, which clients give as a flat list, as pairs, or as an object. */
export function fieldOf(reply: unknown, name: string): string | undefined {
  if (!Array.isArray(reply)) return (reply as Readonly<Record<string, string>>)[name];
  const list = reply as readonly (string | { readonly key: string; readonly value: string })[];
  const at = list.findIndex((one, index) => index % 2 === 0 && one === name);
  if (at >= 0) return list[at + 1] as string;
  return list.flatMap((one) => (typeof one !== 'string' && one.key === name ? [one.value] : []))[0];
}
