import { deepStrictEqual as equal, match } from 'node:assert';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';

/** Sends a body as JSON, or only a GET request. Returns the status and the response. */
async function ask<Body>(
  url: string,
  sent?: object,
  word = '',
): Promise<{ status: number; body: Body }> {
  const headers = { 'content-type': 'application/json', word };
  const init = sent ? { method: 'POST', headers, body: JSON.stringify(sent) } : { headers };
  const response = await fetch(url, init);
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json');
  // Not response.json(), because its objects are from another realm than Jest's own.
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}

interface Said {
  readonly event: string;
  readonly data: unknown;
}

/** Sends messages to the gateway, and returns its responses until 'latest' has two of them. */
async function askGateway(url: string, ...events: readonly string[]): Promise<Said[]> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/orders/live`);
  const said: Said[] = [];
  socket.on('message', (text: Buffer) => said.push(JSON.parse(String(text)) as Said));
  await once(socket, 'open');
  const latestCount = () => said.filter(({ event }) => event === 'latest').length;
  const send = (event: string) => socket.send(JSON.stringify({ event, data: {} }));
  for (const event of events) send(event);
  for (const count of [1, 2]) {
    send('latest');
    while (latestCount() < count) await once(socket, 'message');
  }
  socket.close();
  return said;
}

const id = '382366441078288384';
const next = '382366441078288385';
const asNumber = 382366441078288400;

type Schema = Record<'type' | 'format', string>;
const kindsOf = (...schemas: (Schema | undefined)[]): unknown[] =>
  schemas.map((schema) => [schema?.type, schema?.format]);
const TEXT_TWICE = Array.from({ length: 2 }, () => ['string', 'int64']);

interface Refusal {
  readonly message: string;
  readonly error: string;
}

interface OpenApi {
  readonly paths: Record<string, { get: { parameters: { schema: Schema }[] } }>;
  readonly components: { schemas: Record<string, { properties: Record<string, Schema> }> };
}

/** The required responses of every entry point, the same for Jest and for plain Node. */
export const CHECKS: Record<string, (url: string) => Promise<void>> = {
  'http: an ID is a bigint in a path and a string in JSON': async (url) => {
    const body = { type: 'bigint', id, lines: [{ id }] };
    equal(await ask(`${url}/orders/${id}`), { status: 200, body });
  },
  'http: a path without a valid ID gets 400 and the reason': async (url) => {
    const { status, body } = await ask<Refusal>(`${url}/orders/x`);
    equal([status, body.error], [400, 'Bad Request']);
    match(body.message, /Expected an id/);
  },
  'http: an error is 400 for invalid input, 503 for a temporary failure': async (url) => {
    const { status, body } = await ask<Refusal>(`${url}/orders/short?id=0`);
    equal([status, body.error], [400, 'Bad Request']);
    match(body.message, /character 1 is "0"/);
    const answer = await fetch(`${url}/orders/spent`);
    equal([answer.status, answer.headers.get('retry-after')], [503, '1']);
    equal((await answer.text()).includes('secret'), false);
  },
  'http: IDs are strings in the response of a gateway': async (url) => {
    const data = { id, lines: [next] };
    const latest = { event: 'latest', data };
    equal(await askGateway(url), [latest, latest]);
  },
  'class-validator: a DTO with an ID passes, a DTO with a number does not': async (url) => {
    const body = { referrerId: id };
    equal(await ask(`${url}/customers`, body), { status: 201, body });
    const refused = await ask<{ message: string[] }>(`${url}/customers`, { referrerId: asNumber });
    equal(refused.status, 400);
    match(refused.body.message.join(), /^referrerId: Expected an id as decimal text/);
  },
  'class-validator: a list of IDs passes, a list that is too long does not': async (url) => {
    const body = { ids: [id, next] };
    equal(await ask(`${url}/customers/several`, body), { status: 201, body });
    const refused = await ask<{ message: string[] }>(`${url}/customers/several`, {
      ids: [id, next, id],
    });
    equal(refused.body.message, [
      'ids: Expected 0 to 2 ids, got 3. Send them in several requests.',
    ]);
  },
  'class-transformer: a bigint of a class becomes a string': async (url) => {
    equal(await ask(`${url}/customers/${id}`), { status: 200, body: { id } });
  },
  'swagger: IDs are strings in the OpenAPI document': async (url) => {
    const { body } = await ask<OpenApi>(`${url}/openapi.json`);
    const { CreateCustomer } = body.components.schemas;
    const inPath = body.paths['/customers/{id}']?.get.parameters[0]?.schema;
    equal(kindsOf(inPath, CreateCustomer?.properties['referrerId']), TEXT_TWICE);
  },
  'api-keys: only a request with a key is accepted': async (url) => {
    const { body } = await ask<{ key: string; keyId: string }>(`${url}/partner/keys`, {});
    const { key, keyId } = body;
    const me = async (sent: string) => {
      const headers = { authorization: `Bearer ${sent}` };
      const answer = await fetch(`${url}/partner/me`, { headers });
      return [answer.status, (JSON.parse(await answer.text()) as { keyId?: string }).keyId];
    };
    equal(await me(key), [200, keyId]);
    equal(await me(key.slice(0, -1)), [401, undefined]);
    equal((await ask(`${url}/partner/me`)).status, 401);
  },
  'zod: a string passes as string or bigint, any other value is one issue': async (url) => {
    const sent = { customerId: id, after: id, couponIds: [id] };
    equal(await ask(`${url}/refunds`, sent), { status: 201, body: { customerId: id, next } });
    const refused = { customerId: 'x', after: asNumber, couponIds: [id, 'x', 'y'] };
    const { body } = await ask<{ issues: { path: string[] }[] }>(`${url}/refunds`, refused);
    const paths = body.issues.map(({ path }) => path.join());
    equal(paths, ['customerId', 'after', 'couponIds,1']);
  },
  'zod: IDs are strings in JSON Schema': async (url) => {
    const { body } = await ask<{ properties: Record<string, Schema> }>(`${url}/refunds/schema`);
    const { customerId, after } = body.properties;
    equal(kindsOf(customerId, after), TEXT_TWICE);
  },
  'graphql: the scalar reads and writes strings, and refuses a number': async (url) => {
    const answered = { status: 201, body: { data: { next } } };
    equal(await ask(`${url}/graphql`, { after: id }), answered);
    type Refused = { errors: { message: string; extensions?: { code: string } }[] };
    const { body } = await ask<Refused>(`${url}/graphql`, { after: asNumber });
    match(body.errors[0]!.message, /cannot hold every id/);
    equal(body.errors[0]!.extensions?.code, 'ID_INVALID');
  },
  'typeorm: a saved row has an ID of this process': async (url) => {
    const { body } = await ask<{ id: string }>(`${url}/invoices`, {});
    equal((BigInt(body.id) >> 12n) & 1023n, 7n);
  },
  'health: a process that can generate IDs is up': async (url) => {
    type Health = { status: string; details: { ids: Record<string, unknown> } };
    const { status, body } = await ask<Health>(`${url}/health`);
    const { ids } = body.details;
    equal([status, body.status, ids['status'], ids['workerId']], [200, 'ok', 'up', 7]);
  },
  'dashboard: a request that passes the guard gets the page with the worker': async (url) => {
    equal((await ask(`${url}/snowflake`)).status, 403);
    const page = await ask<string>(`${url}/snowflake`, undefined, 'open');
    match(page.body, /^<!doctype html>.*<\/html>\s*$/is);
    type State = { generators: { lease: { workerId: number } }[] };
    const { body } = await ask<State>(`${url}/snowflake/state`, undefined, 'open');
    equal(body.generators[0]!.lease.workerId, 7);
  },
  'metrics: prom-client and OpenTelemetry count the IDs': async (url) => {
    const issued = await ask<{ ids: number }>(`${url}/issue`, {});
    const { body } = await ask<string>(`${url}/metrics`);
    const { ids } = issued.body;
    match(body, new RegExp(`^snowflake_ids_issued_total{generator="default",.*} ${ids}$`, 'm'));
    const otel = await ask(`${url}/otel`);
    equal(otel.body, { errors: [], points: [ids] });
  },
};
