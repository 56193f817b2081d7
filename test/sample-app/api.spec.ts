/**
 * The OpenAPI document as a generator of clients reads it: the whole of it, and above all that no
 * id in it can be taken for a number.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { BuiltShop, type ShopProcess, orderBy } from './shop-process.js';
import { ApiKeys } from '../../lib/api-keys/index.js';

const SLOW_MS = 600_000;
const METHODS = ['get', 'post', 'put', 'patch', 'delete'];

/** What names an id. A worker id is a small number. */
const isIdName = (name: string): boolean =>
  /^(id|after|first|last)$|Id$/.test(name) && name !== 'workerId';

/** Where an id is shown or read as customers see it. */
const PUBLIC = [
  '/components/schemas/CreateInvoiceDto orderId',
  '/components/schemas/Invoice orderId',
  '/components/schemas/Order publicId',
  '/components/schemas/TrackedOrder publicId',
  '/paths/tracking/{publicId}/get/parameters publicId',
];

type Part = Record<string, unknown>;

interface Operation extends Part {
  readonly summary?: string;
  readonly responses: Record<string, { content?: { 'application/json': { schema: Part } } }>;
}

interface Named {
  /** Where in the document. */
  readonly at: string;
  readonly name: string;
  readonly schema: Part;
}

describe('the OpenAPI document', () => {
  let database: OwnDatabase;
  let shop: ShopProcess;
  let document: Part & { paths: Record<string, Record<string, Operation>> };

  beforeAll(async () => {
    const built = await BuiltShop.build();
    database = await ownDatabase(process.env['DATABASE_URL']!);
    shop = await built.start({ SNOWFLAKE_SUPPORT: 'static:1', DATABASE_URL: database.url });
    document = (await shop.get('/docs-json')).body as typeof document;
  }, SLOW_MS);
  afterAll(async () => {
    await shop.stop();
    await database.drop();
  }, SLOW_MS);

  const operations = (): [name: string, operation: Operation][] =>
    Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [
        `${method} ${path}`,
        operation,
      ]),
    );

  /** The schemas of the successful answers. */
  const answers = (): Record<string, Part | undefined> =>
    Object.fromEntries(
      operations().map(([name, { responses }]) => {
        const [, ok] = Object.entries(responses).find(([code]) => code.startsWith('2'))!;
        return [name, ok.content?.['application/json'].schema];
      }),
    );

  it('is shown at /docs', async () => {
    const response = await fetch(`${shop.url}/docs`);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/html');
  });

  it('has these operations, each with a summary', () => {
    expect(
      operations()
        .map(([name]) => name)
        .toSorted(),
    ).toEqual([
      'delete /partner-keys/{keyId}',
      'get /customers',
      'get /customers/{id}',
      'get /health',
      'get /health/ready',
      'get /ids/{id}',
      'get /invoices',
      'get /orders',
      'get /orders/{id}',
      'get /partner/orders',
      'get /sales-reports',
      'get /tracking/{publicId}',
      'post /customers',
      'post /invoices',
      'post /orders',
      'post /orders/bulk',
      'post /partner-keys',
    ]);
    const isSaid = ([name, { summary }]: [string, Operation]) =>
      METHODS.includes(name.split(' ')[0]!) && Boolean(summary);
    expect(operations().filter((operation) => !isSaid(operation))).toEqual([]);
  });

  it('says what each operation answers', () => {
    const listOf = (name: string) => ({ type: 'array', items: schemaOf(name) });
    expect(answers()).toEqual({
      'delete /partner-keys/{keyId}': undefined,
      'get /customers': listOf('Customer'),
      'get /customers/{id}': schemaOf('Customer'),
      'get /health': expect.objectContaining({ type: 'object' }),
      'get /health/ready': expect.objectContaining({ type: 'object' }),
      'get /ids/{id}': schemaOf('DecodedId'),
      'get /invoices': listOf('Invoice'),
      'get /orders': listOf('Order'),
      'get /orders/{id}': schemaOf('Order'),
      'get /partner/orders': schemaOf('PartnerOrders'),
      'get /sales-reports': listOf('SalesReport'),
      'get /tracking/{publicId}': schemaOf('TrackedOrder'),
      'post /customers': schemaOf('Customer'),
      'post /invoices': schemaOf('Invoice'),
      'post /orders': schemaOf('Order'),
      'post /orders/bulk': { type: 'array', items: expect.objectContaining({ type: 'string' }) },
      'post /partner-keys': schemaOf('IssuedPartnerKey'),
    });
  });

  it('has every id as text of 64 bits, with an example that its pattern accepts', () => {
    const ids = namedIn(document).filter(({ name }) => isIdName(name));
    const places = ids.map(({ at, name }) => `${at} ${name}`);
    expect(places.toSorted()).toEqual([
      '/components/schemas/CreateInvoiceDto orderId',
      '/components/schemas/CreateOrderDto customerId',
      '/components/schemas/CreateOrdersDto customerId',
      '/components/schemas/Customer id',
      '/components/schemas/DecodedId id',
      '/components/schemas/IdRange first',
      '/components/schemas/IdRange last',
      '/components/schemas/Invoice id',
      '/components/schemas/Invoice orderId',
      '/components/schemas/IssuedPartnerKey keyId',
      '/components/schemas/Order customerId',
      '/components/schemas/Order id',
      '/components/schemas/Order publicId',
      '/components/schemas/OrderLine id',
      '/components/schemas/SalesReport id',
      '/components/schemas/TrackedOrder publicId',
      '/paths/customers/{id}/get/parameters id',
      '/paths/ids/{id}/get/parameters id',
      '/paths/orders/get/parameters after',
      '/paths/orders/{id}/get/parameters id',
      '/paths/partner-keys/{keyId}/delete/parameters keyId',
      '/paths/partner/orders/get/parameters after',
      '/paths/tracking/{publicId}/get/parameters publicId',
    ]);
    const bulk = answers()['post /orders/bulk']!['items'] as Part;
    const isPublic = ({ at, name }: Named) => PUBLIC.includes(`${at} ${name}`);
    for (const { schema } of ids.filter(isPublic)) {
      expect(schema).toMatchObject({ type: 'string', pattern: expect.stringMatching(/^\^ord_/) });
      expect(schema).not.toHaveProperty('format');
    }
    const decimal = ids.filter((id) => !isPublic(id)).map(({ schema }) => schema);
    for (const schema of [...decimal, bulk]) {
      expect(schema).toMatchObject({ type: 'string', format: 'int64' });
    }
    for (const schema of [...ids.map((id) => id.schema), bulk]) {
      const { pattern, example } = schema as { pattern: string; example: string };
      expect(example).toMatch(new RegExp(pattern));
      expect('-1').not.toMatch(new RegExp(pattern));
    }
  });

  it('gives examples of the ids that the shop itself accepts', async () => {
    const paths = Object.keys(document.paths).filter((path) => /\{(id|publicId)\}$/.test(path));
    const statuses = paths.map(async (path) => {
      const [parameter] = document.paths[path]!['get']!['parameters'] as { schema: Part }[];
      return (await shop.get(path.replace(/\{.*\}/, String(parameter!.schema['example'])))).status;
    });
    expect(await Promise.all(statuses)).toEqual([200, 404, 404, 404]);
  });

  it('says which operations need an API key, and which the password of the operators', () => {
    const secured = operations().filter(([, { security }]) => security !== undefined);
    expect(Object.fromEntries(secured.map(([name, { security }]) => [name, security]))).toEqual({
      'delete /partner-keys/{keyId}': [{ basic: [] }],
      'get /partner/orders': [{ apiKey: [] }],
      'post /partner-keys': [{ basic: [] }],
    });
    const { securitySchemes } = document['components'] as { securitySchemes: Part };
    expect(Object.keys(securitySchemes).toSorted()).toEqual(['apiKey', 'basic']);
  });

  it('has no reference that leads nowhere', () => {
    const references = referencesIn(document);
    expect(references).toContain('#/components/schemas/Order');
    expect(references.filter((reference) => resolve(document, reference) === undefined)).toEqual(
      [],
    );
  });
});

function schemaOf(name: string): Part {
  return { $ref: `#/components/schemas/${name}` };
}

/** Every property of every schema and every parameter, wherever it lies. */
function namedIn(part: unknown, at = ''): Named[] {
  if (typeof part !== 'object' || part === null) return [];
  const { properties = {}, parameters = [] } = part as {
    properties?: Record<string, Part>;
    parameters?: { name: string; schema: Part }[];
  };
  return [
    ...Object.entries(properties).map(([name, schema]) => ({ at, name, schema })),
    ...parameters.map(({ name, schema }) => ({ at: `${at}/parameters`, name, schema })),
    ...Object.entries(part).flatMap(([key, value]) =>
      namedIn(value, `${at}/${key.replace(/^\//, '')}`),
    ),
  ];
}

function referencesIn(part: unknown): string[] {
  if (typeof part !== 'object' || part === null) return [];
  return Object.entries(part).flatMap(([key, value]) =>
    key === '$ref' ? [String(value)] : referencesIn(value),
  );
}

function resolve(document: Part, reference: string): unknown {
  const keys = reference.replace(/^#\//, '').split('/');
  return keys.reduce<unknown>((part, key) => (part as Part | undefined)?.[key], document);
}

// The route of the shop that needs an API key, asked over HTTP: with a key that operators made, and
// with all that is none.

const PASSWORD = 'the password of the operators';
const operator = { authorization: `Basic ${btoa(`ada:${PASSWORD}`)}` };
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

interface Issued {
  readonly keyId: string;
  readonly key: string;
}

describe('a partner', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-shop-'));
  const data = { DATA_DIR: join(folder, 'data'), OPERATOR_PASSWORD: PASSWORD };
  let built: BuiltShop;
  let shop: ShopProcess;
  let issued: Issued;

  beforeAll(async () => {
    built = await BuiltShop.build();
    shop = await built.start(data);
    issued = (await ask('POST', '/partner-keys', operator, { partner: 'Tea by Bike' })).body;
  }, SLOW_MS);
  afterAll(async () => {
    await shop.stop();
    rmSync(folder, { recursive: true });
  }, SLOW_MS);

  async function ask(method: string, path: string, headers: Record<string, string>, sent?: object) {
    const json: Record<string, string> =
      sent === undefined ? {} : { 'content-type': 'application/json' };
    const init = { method, headers: { ...headers, ...json }, body: JSON.stringify(sent) };
    const response = await fetch(shop.url + path, init);
    const text = await response.text();
    const body = (text === '' ? undefined : JSON.parse(text)) as Issued;
    return { status: response.status, body, text };
  }
  const read = (headers: Record<string, string>) => ask('GET', '/partner/orders?limit=5', headers);

  it('reads public ids with the key that operators made, and hears whose it is', async () => {
    const { body } = await shop.post('/customers', { name: 'Ada' });
    const { publicId } = await orderBy(shop, (body as { id: string }).id);
    const answer = await read(bearer(issued.key));
    expect(answer).toMatchObject({
      status: 200,
      body: { partner: 'Tea by Bike', orders: [publicId] },
    });
  });

  it('reads nothing without it, and hears the same of every key that is not valid', async () => {
    const others = new ApiKeys({ prefix: 'shop' });
    const made = [others.issue(issued.keyId).key, others.issue(7n).key];
    const answers = await Promise.all(made.map((key) => read(bearer(key))));
    const notValid = JSON.stringify({
      message: 'This API key is not valid.',
      error: 'Unauthorized',
      statusCode: 401,
    });
    expect(answers.map(({ status, text }) => ({ status, text }))).toEqual([
      { status: 401, text: notValid },
      { status: 401, text: notValid },
    ]);
    for (const headers of [{}, operator, bearer(issued.key.slice(0, -1)), bearer('x')]) {
      expect(await read(headers)).toMatchObject({
        status: 401,
        body: { message: expect.stringContaining('Send the complete API key') },
      });
    }
  });

  it('makes and revokes no keys', async () => {
    const { key, keyId } = issued;
    const tries = await Promise.all([
      ask('POST', '/partner-keys', bearer(key), { partner: 'x' }),
      ask('DELETE', `/partner-keys/${keyId}`, bearer(key)),
      ask('DELETE', `/partner-keys/${keyId}`, {}),
    ]);
    expect(tries.map(({ status }) => status)).toEqual([401, 401, 401]);
  });

  it(
    'keeps its key over a restart of the shop, until it is revoked',
    async () => {
      await shop.stop();
      shop = await built.start(data);
      expect((await read(bearer(issued.key))).status).toBe(200);
      const revoke = () => ask('DELETE', `/partner-keys/${issued.keyId}`, operator);
      expect((await revoke()).status).toBe(204);
      expect((await read(bearer(issued.key))).status).toBe(401);
      expect((await revoke()).status).toBe(404);
    },
    SLOW_MS,
  );

  it('finds its key neither in the log nor in the database of the shop', async () => {
    await shop.stop();
    const secret = issued.key.slice(-49, -6);
    const files = readdirSync(data.DATA_DIR, { recursive: true, withFileTypes: true });
    const texts = files
      .filter((file) => file.isFile())
      .map((file) => readFileSync(join(file.parentPath, file.name), 'latin1'));
    // What is stored of it is found, so the search is not blind.
    expect(texts.some((text) => text.includes('Tea by Bike'))).toBe(true);
    expect([shop.output, ...texts].filter((text) => text.includes(secret))).toEqual([]);
  });
});
