/**
 * One request over HTTP/1.1, with a time limit and a size limit for the response.
 *
 * Guarantee: it settles within the limit, which starts when the request has a connection. It waits
 * for a connection no longer than `LINE_MS_MAX`. It follows no redirect and reads no more than the
 * size limit. It fails with Node's own errors; other code turns them into messages.
 */
import {
  Agent as PlainAgent,
  request as requestPlainly,
  type ClientRequest,
  type IncomingMessage,
} from 'node:http';
import { Agent as TlsAgent, request as requestByTls } from 'node:https';
import { withinLimit, type Timers } from '../../time/timers.js';

/** A registry with all worker IDs of a layout fits, because it is read in pages of 1,000 rows. */
const BODY_BYTES_MAX = 32 * 1024 * 1024;
/** The connections of one process to one member; a keeper uses at most two. */
export const SOCKETS_MAX = 8;
/** The limit for a connection to become free if a process requests a thousand leases at once. */
export const LINE_MS_MAX = 20_000;

/** The options of `tls.connect` that are passed on. */
export interface EtcdTls {
  /** Trusted authorities in PEM; default: those that Node trusts. */
  readonly ca?: string | Uint8Array | undefined;
  /** A client certificate in PEM, if etcd requires one. */
  readonly cert?: string | Uint8Array | undefined;
  /** The private key of `cert`, in PEM. */
  readonly key?: string | Uint8Array | undefined;
  /** The name in the certificate of etcd, if it differs from the endpoint's host. */
  readonly servername?: string | undefined;
}

interface HttpQuestion {
  readonly url: URL;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: PlainAgent;
  /** Ends the request, even before it has a connection. */
  readonly signal?: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  readonly date: string | undefined;
  readonly text: string;
  /** The connection that carried the request. */
  readonly socket: object;
}

/** Keeps connections open between calls, but does not keep the process alive. */
export function agentFor(isTls: boolean, tls: EtcdTls = {}): PlainAgent {
  const options = { keepAlive: true, maxSockets: SOCKETS_MAX };
  // The certificate is always checked, whatever NODE_TLS_REJECT_UNAUTHORIZED is.
  if (isTls) return new TlsAgent({ ...options, ...(tls as object), rejectUnauthorized: true });
  return new PlainAgent(options);
}

/** Idle connections: if one of them is dead, the others may be dead too. */
export function endIdle({ freeSockets }: PlainAgent): void {
  for (const socket of Object.values(freeSockets).flat()) socket?.destroy();
}

export async function post(
  call: HttpQuestion,
  limitMs: number,
  timers: Timers,
): Promise<HttpAnswer> {
  const { request, sent, answered } = begun(call);
  const within = (ms: number, text: string) => ({
    ms,
    timers,
    over: (): never => {
      const error = httpFault('LATE', text);
      request.destroy(error);
      throw error;
    },
  });
  // If `answered` fails before it is awaited, `sent` reports the error.
  answered.catch(() => undefined);
  await withinLimit(
    sent,
    within(LINE_MS_MAX, `not sent within ${LINE_MS_MAX} ms: others came first`),
  );
  return withinLimit(answered, within(limitMs, `no answer within ${limitMs} ms`));
}

function requested({ url, body, headers, agent, signal }: HttpQuestion): ClientRequest {
  const ask = url.protocol === 'https:' ? requestByTls : requestPlainly;
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  const ended = signal && { signal };
  const options = { method: 'POST', agent, headers: { ...headers, ...length }, ...ended };
  return ask(url, options).end(body);
}

/** It is sent when it has a connection, which may still be opening. */
function begun(call: HttpQuestion) {
  const request = requested(call);
  const sent = new Promise<void>((resolve, reject) => {
    request.once('socket', () => resolve());
    request.once('error', reject);
  });
  const answered = new Promise<HttpAnswer>((resolve, reject) => {
    request.on('error', reject);
    request.once('response', (answer) => void read(answer).then(resolve, reject));
  });
  return { request, sent, answered };
}

/** A streaming response, line by line. */
interface HttpStream {
  readonly call: Omit<HttpQuestion, 'signal'>;
  readonly line: (text: string) => void;
  /** No other line will come; it may be called more than once. */
  readonly ended: () => void;
}

/**
 * @returns a function that ends it; a signal could be aborted by the line just read, and its error
 * would have no handler
 */
export function stream({ call, line, ended }: HttpStream): () => void {
  const request = requested(call);
  request.on('error', ended).on('close', ended);
  request.on('response', (answer) => {
    let rest = '';
    answer.setEncoding('utf8').on('error', ended);
    answer.on('data', (part: string) => {
      const lines = (rest + part).split('\n');
      rest = lines.pop()!;
      if (rest.length > BODY_BYTES_MAX) answer.destroy(httpFault('TOO_LARGE'));
      for (const text of lines) line(text);
    });
  });
  return () => request.destroy();
}

function read(answer: IncomingMessage): Promise<HttpAnswer> {
  // After the end of the response, the socket belongs to no request.
  const { socket } = answer;
  const parts: Buffer[] = [];
  let byteCount = 0;
  return new Promise((resolve, reject) => {
    answer.on('data', (part: Buffer) => {
      byteCount += part.length;
      if (byteCount > BODY_BYTES_MAX) answer.destroy(httpFault('TOO_LARGE'));
      else parts.push(part);
    });
    answer.on('error', reject);
    answer.on('end', () => {
      const { statusCode: status = 0 } = answer;
      const { date } = answer.headers;
      resolve({ status, date, text: Buffer.concat(parts).toString('utf8'), socket });
    });
  });
}

function httpFault(code: 'LATE' | 'TOO_LARGE', text = 'the answer is too large'): Error {
  return Object.assign(new Error(text), { code });
}
