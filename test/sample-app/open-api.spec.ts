/**
 * The OpenAPI document as a generator of clients reads it: the whole of it, and above all that no
 * id in it can be taken for a number.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type OwnDatabase, ownDatabase } from '../own-database.js';
import { BuiltShop, type ShopProcess } from './shop-process.js';

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
