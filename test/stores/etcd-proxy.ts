/**
 * A gateway in front of an etcd that is real: what passes through it is what etcd says, but for
 * what a test wants otherwise. It has a clock of its own, or answers nothing, or something else.
 */
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Passed {
  status: number;
  headers: Record<string, string>;
  body: string;
}

export interface ProxyCall {
  /** Below /v3. */
  readonly path: string;
  readonly body: string;
  /** Passes the question on, or another one. */
  readonly pass: (body?: string) => Promise<Passed>;
  /** Ends the connection without a word. */
  readonly drop: () => undefined;
}

/** What to do with a question; undefined where nothing is to be answered any more. */
export type Handler = (call: ProxyCall) => Promise<Passed | undefined>;

export interface EtcdProxy {
  /** As an endpoint. */
  readonly endpoint: string;
  /** Paths that were asked for. */
  readonly asked: string[];
  handler: Handler;
  /** Ends every connection, as a member does that stops. */
  hangUp(): void;
  close(): Promise<void>;
}

export async function etcdProxy(
  target: string,
  handler: Handler = ({ pass }) => pass(),
): Promise<EtcdProxy> {
  const proxy = { asked: [] as string[], handler };
  const server = createServer((question, answer) => {
    void handled(target, proxy, question, answer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return Object.assign(proxy, {
    endpoint: `http://127.0.0.1:${port}`,
    hangUp: () => server.closeAllConnections(),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  });
}

async function handled(
  target: string,
  proxy: Pick<EtcdProxy, 'asked' | 'handler'>,
  question: IncomingMessage,
  answer: ServerResponse,
): Promise<void> {
  const body = await textOf(question);
  const path = (question.url ?? '').replace(/^\/v3\//, '');
  proxy.asked.push(path);
  const drop = () => {
    question.socket.destroy();
    return undefined;
  };
  const { authorization } = question.headers;
  const pass = (sent = body) => passed(`${target}${question.url}`, authorization, sent);
  try {
    const made = await proxy.handler({ path, body, pass, drop });
    if (made === undefined) return;
    answer.sendDate = false;
    answer.writeHead(made.status, made.headers).end(made.body);
  } catch {
    // A member that is not there has no answer either.
    drop();
  }
}

async function passed(url: string, authorization: string | undefined, body: string) {
  const headers = { 'content-type': 'application/json', ...(authorization && { authorization }) };
  const sent = request(url, { method: 'POST', headers });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const { statusCode: status = 0, headers: theirs } = answer;
  const kept: Record<string, string> = theirs.date === undefined ? {} : { date: theirs.date };
  return { status, headers: kept, body: await textOf(answer) };
}

async function textOf(stream: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}
