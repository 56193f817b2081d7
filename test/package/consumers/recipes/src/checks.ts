/**
 * Checks the IDs in each recipe of docs/guides/recipes.md. Each block of the guide is in a file
 * next to this one, named by its heading. `node checks.js bullmq` prints the results of BullMQ.
 */
import 'reflect-metadata';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { ConsoleLogger, Controller, Get, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CommandBus, CqrsModule, EventsHandler, type IEventHandler } from '@nestjs/cqrs';
import {
  ClientProxyFactory,
  MessagePattern,
  Transport,
  type MicroserviceOptions,
} from '@nestjs/microservices';
import { KafkaRequestSerializer } from '@nestjs/microservices/serializers/kafka-request.serializer';
import { ScheduleModule } from '@nestjs/schedule';
import { MikroORM, defineEntity, p } from '@mikro-orm/postgresql';
import { getMigrations } from 'better-auth/db/migration';
import { FlowProducer, Queue, Worker } from 'bullmq';
import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { Partitioners } from 'kafkajs';
import { Keyv as Keyv6 } from 'keyv-6';
import { Paginate, PaginationType, paginate, type PaginateQuery } from 'nestjs-paginate';
import { BitLayout, SnowflakeModule, layouts, startSnowflake } from 'nestjs-snowflake';
import { hookDataSource } from 'nestjs-snowflake/typeorm';
import pg from 'pg';
import { firstValueFrom } from 'rxjs';
import { DataSource } from 'typeorm';

const WORKER_ID = 7;
/** The worker is the last field, so every ID is odd and no number can hold it. */
const layout = new BitLayout({
  fields: [
    ['timestamp', 41],
    ['sequence', 12],
    ['worker', 10],
  ],
});
const options = { workerId: WORKER_ID, layout };
const isMade = (id: string): boolean => layout.parse(id).workerId === WORKER_ID;
const SnowflakeModules = [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)];

/** IDs of the usual layout, each the first of its millisecond. */
function firstIds(count: number): bigint[] {
  const timestampMs = Date.parse('2026-11-21T09:00:00Z');
  const first = layouts.snowflake().compose({ timestampMs, workerId: WORKER_ID });
  return Array.from({ length: count }, (_, n) => first + (BigInt(n) << 22n));
}

/** The error code or the message of a failed call. */
async function failureOf(call: () => unknown): Promise<string> {
  try {
    await call();
    return 'none';
  } catch (error) {
    const { code, cause, message } = error as Error & { code?: string; cause?: { code?: string } };
    return code ?? cause?.code ?? message;
  }
}

const REDIS_URL = process.env['REDIS_URL']!;
const DATABASE_URL = process.env['DATABASE_URL']!;
const OTHER_DATABASE_URL = process.env['OTHER_DATABASE_URL']!;
const database = new pg.Pool({ connectionString: DATABASE_URL });
const idsIn = async (table: string): Promise<string[]> =>
  (await database.query(`SELECT id::text FROM ${table} ORDER BY ${table}.id`)).rows.map(
    ({ id }) => id,
  );

async function betterAuth() {
  const { auth } = await import('./better-auth.js');
  await (await getMigrations(auth.options)).runMigrations();
  const snowflake = await startSnowflake(options);
  const signUp = (email: string) =>
    auth.api.signUpEmail({ body: { email, name: 'Ada', password: 'correct horse' } });
  const { user } = await signUp('ada@example.com');
  const tables = ['"user"', 'account', 'session'];
  const ids = (await Promise.all(tables.map(idsIn))).flat();
  const { rows: types } = await database.query(
    `SELECT DISTINCT data_type FROM information_schema.columns
      WHERE column_name IN ('id', 'userId') AND table_schema = 'public'`,
  );
  const { internalAdapter } = await auth.$context;
  const once = { identifier: 'token', value: 'used', expiresAt: new Date(Date.now() + 60_000) };
  const reserved = [
    await internalAdapter.reserveVerificationValue(once),
    await internalAdapter.reserveVerificationValue(once),
  ];
  const [hash] = await idsIn('verification');
  await snowflake.close();
  return {
    made: ids.filter(isMade).length,
    answered: user.id === ids[0],
    types: types.map(({ data_type }) => data_type),
    reserved,
    asBigint: await failureOf(() => database.query('SELECT $1::bigint', [hash])),
    withoutGenerator: await failureOf(() => signUp('bob@example.com')),
    users: (await idsIn('"user"')).length,
  };
}

async function keyv() {
  const { cache, cached } = await import('./keyv-and-cache-manager.js');
  const snowflake = await startSnowflake(options);
  const [id, other] = snowflake.ids.nextIdStrings(2) as [string, string];
  let loads = 0;
  const load = async (of: string) => ({ id: of, loads: ++loads });
  const orders = [await cached(id, load), await cached(id, load), await cached(other, load)];
  const inValue = (of: string) => cached(`of ${of}`, async () => ({ id: BigInt(of), n: ++loads }));
  const asValue = await failureOf(() => inValue(id));
  const loadedForValue = loads;
  const asKey = await failureOf(() => cached(BigInt(id) as never, load));
  const newest = new Keyv6();
  await newest.set(id, { id: BigInt(id) });
  const kept = await newest.get<{ id: bigint }>(id);
  return {
    found: orders.map((order) => order.id).join() === [id, id, other].join(),
    loads: orders.map((order) => order.loads),
    asValue,
    loadedForValue,
    asKey,
    loadedForKey: loads,
    keyv6: kept?.id === BigInt(id),
  };
}

async function bullmq() {
  const { addFlow, addOrder } = await import('./bullmq.js');
  const connection = { url: REDIS_URL };
  const queueName = `orders-${process.pid}`;
  const queue = new Queue<{ id: string }>(queueName, { connection });
  const flows = new FlowProducer({ connection });
  const ids = firstIds(10_000).map(String);
  const isRefused = (id: string): boolean => `${parseInt(id, 10)}` === id;
  const refused = ids.find(isRefused)!;
  const taken = ids.find((id) => !isRefused(id))!;
  const bare = (jobId: string) => failureOf(() => queue.add('order', { id: '' }, { jobId }));
  const found = {
    refused: await bare(refused),
    taken: await bare(taken),
    perHundred: Math.round(ids.filter(isRefused).length / 100),
    colon: await bare(`order:${refused}`),
    asData: await failureOf(() => queue.add('order', { id: BigInt(refused) as never })),
  };
  await queue.drain();
  await addOrder(queue, refused);
  await addOrder(queue, refused);
  const added = await queue.getJobCountByTypes('waiting');
  const { job } = await addFlow(flows, queueName, refused);
  const done: string[] = [];
  const worker = new Worker<{ id: string }>(
    queueName,
    async ({ id, data }) => void done.push(`${id} ${data.id}`),
    { connection },
  );
  await new Promise<void>((resolve) =>
    worker.on('completed', ({ id }) => id === job.id && resolve()),
  );
  await Promise.all([worker.close(), flows.close()]);
  await queue.obliterate({ force: true });
  return { ...found, added, done: done.map((said) => said.replaceAll(refused, 'ID')) };
}

async function cqrs() {
  const { OrderPlaced, PlaceOrder, PlaceOrderHandler } = await import('./cqrs.js');
  const heard: InstanceType<typeof OrderPlaced>[] = [];
  @EventsHandler(OrderPlaced)
  class First implements IEventHandler {
    handle = (event: InstanceType<typeof OrderPlaced>) => void heard.push(event);
  }
  @EventsHandler(OrderPlaced)
  class Second extends First {}
  @Module({
    imports: [CqrsModule.forRoot(), ...SnowflakeModules],
    providers: [PlaceOrderHandler, First, Second],
  })
  class Application {}
  const app = await NestFactory.createApplicationContext(Application);
  const orderId = await app.get(CommandBus).execute(new PlaceOrder('382366441078288385'));
  const [first, second] = heard;
  await app.close();
  return {
    made: [orderId, first!.eventId].map(isMade),
    distinct: new Set([orderId, first!.eventId, first!.customerId]).size,
    same: first!.orderId === orderId && first!.eventId === second!.eventId,
    handlers: heard.length,
  };
}

/** One transaction generates its ID first and commits last. */
async function eventStores() {
  const { EVENTS, append, readAfter } = await import('./event-stores.js');
  const snowflake = await startSnowflake(options);
  const [stream, other, early, late, third] = snowflake.ids.nextIdStrings(5) as string[];
  await database.query(EVENTS);
  await database.query('CREATE TABLE counted (id bigserial)');
  const start = { written: '0', id: '0' };
  const slow = await database.connect();
  await slow.query('BEGIN');
  await append(slow, stream!, 1, early!);
  await slow.query('INSERT INTO counted DEFAULT VALUES');
  await append(database, other!, 1, late!);
  await database.query('INSERT INTO counted DEFAULT VALUES');
  const readMeanwhile = await readAfter(database, start);
  const numbers = await idsIn('counted');
  await slow.query('COMMIT');
  slow.release();
  const byId = (await idsIn('events')).filter((id) => BigInt(id) > BigInt(late!));
  const byNumber = (await idsIn('counted')).filter((n) => Number(n) > Number(numbers.at(-1)));
  const read = await readAfter(database, start);
  await append(database, stream!, 2, third!);
  const readOn = await readAfter(database, read.at(-1)!);
  const secondWriter = () => append(database, stream!, 2, snowflake.ids.nextIdString());

  const setNumbers = `UPDATE events SET written = (CASE id WHEN $1 THEN $2 ELSE $3 END)::xid8`;
  const inOrder = async () => {
    await database.query(setNumbers, [early, '10', '9']);
    return (await readAfter(database, start)).map(({ id }) => id === early);
  };
  const restoredWith = async (written: string) => {
    await database.query('UPDATE events SET written = $1::xid8', [written]);
    return (await readAfter(database, start)).length;
  };
  const found = {
    readMeanwhile: readMeanwhile.length,
    read: read.map(({ id }) => [early, late].indexOf(id)),
    readOn: readOn.map(({ id }) => id === third),
    // Of the event that was committed last.
    byId,
    numbers,
    byNumber,
    secondWriter: await failureOf(secondWriter),
    // Numeric order. As strings, 10 sorts before 9.
    inOrder: await inOrder(),
    restored: [await restoredWith('9000000000'), await restoredWith('0')],
  };
  await snowflake.close();
  return found;
}

async function kafka() {
  const { orderPlaced } = await import('./kafka.js');
  const partitionMetadata = Array.from({ length: 12 }, (_, partitionId) => ({
    partitionId,
    leader: 1,
    partitionErrorCode: 0,
    replicas: [],
    isr: [],
  }));
  const partitioner = Partitioners.DefaultPartitioner();
  const partitionOf = (message: { key?: Buffer | string | null; value: Buffer | string | null }) =>
    partitioner({ topic: 'orders', partitionMetadata, message });
  const ids = firstIds(12_000);
  const byText = new Array<number>(12).fill(0);
  for (const id of ids) byText[partitionOf(orderPlaced(String(id), '1'))]!++;
  const ofOrder = ids.map((id) => partitionOf(orderPlaced(String(ids[5]), String(id))));
  const serializer = new KafkaRequestSerializer();
  const message = orderPlaced('382366441078288385', '382366441078288387');
  return {
    ofOneOrder: new Set(ofOrder).size,
    least: Math.min(...byText) > 800,
    byModulo: new Set(ids.map((id) => id % 12n)).size,
    // The hash of this string in the tests of the Java client.
    asJava: partitionOf({ key: 'foobar', value: '' }) === (-790332482 & 0x7fffffff) % 12,
    ofNest: await serializer.serialize({ ...message }),
    bigintKey: (
      (await serializer.serialize({ key: 382366441078288385n, value: '' })) as { key: '' }
    ).key,
    bigintValue: await failureOf(() => serializer.serialize({ key: '1', value: { id: 1n } })),
  };
}

class Heard extends ConsoleLogger {
  readonly first: Promise<string>;
  override error!: (message: unknown) => void;

  constructor() {
    super({ logLevels: ['error'] });
    this.first = new Promise((resolve) => {
      this.error = (message) => resolve(String(message));
    });
  }
}

async function microservices() {
  const { OrdersController } = await import('./microservices.js');
  @Controller()
  class Bare {
    @MessagePattern('bare')
    bare() {
      return { id: 382366441078288385n };
    }

    @MessagePattern('number')
    number() {
      return { id: Number('382366441078288385') };
    }
  }
  @Module({ imports: SnowflakeModules, controllers: [OrdersController, Bare] })
  class Application {}
  const tcp = { transport: Transport.TCP, options: { host: '127.0.0.1', port: await freePort() } };
  const { hostname: host, port } = new URL(REDIS_URL);
  const redis = { transport: Transport.REDIS, options: { host, port: Number(port) } };
  const ofTcp = await overTransport(Application, tcp as MicroserviceOptions);
  return { tcp: ofTcp, redis: await overTransport(Application, redis as MicroserviceOptions) };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

async function overTransport(application: Type, transport: MicroserviceOptions) {
  const logger = new Heard();
  const app = await NestFactory.createMicroservice(application, { ...transport, logger });
  await app.listen();
  const client = ClientProxyFactory.create(transport as never);
  await client.connect();
  const ask = (pattern: string, data: object) =>
    firstValueFrom(client.send<{ id: string; customerId: string }>(pattern, data));
  const sent = { customerId: '382366441078288385' };
  const placed = await ask('order.place', sent);
  let isAnswered = false;
  const bare = ask('bare', {}).finally(() => (isAnswered = true));
  bare.catch(() => undefined);
  const error = await logger.first;
  // A later request receives its response.
  await ask('order.place', sent);
  const bigint = { customerId: 382366441078288385n };
  const found = {
    id: typeof placed.id,
    made: isMade(placed.id),
    sentBack: placed.customerId === sent.customerId,
    isAnswered,
    error,
    number: (await ask('number', {})).id,
    bySend: await failureOf(() => ask('order.place', bigint)),
    byEmit: await failureOf(() =>
      firstValueFrom(client.emit('placed', bigint), { defaultValue: undefined }),
    ),
  };
  await client.close();
  await app.close();
  return found;
}

const PAGE = 7;

async function nestjsPaginate() {
  const { Order, pageOf } = await import('./nestjs-paginate.js');
  const snowflake = await startSnowflake(options);
  const source = new DataSource({
    type: 'postgres',
    url: DATABASE_URL,
    entities: [Order],
    synchronize: true,
  });
  const orders = (await hookDataSource(source).initialize()).getRepository(Order);
  await orders.insert(Array.from({ length: 3 * PAGE }, () => ({})));
  const stored = (await idsIn('orders')).toReversed();
  @Controller('orders')
  class Orders {
    @Get()
    page(@Paginate() query: PaginateQuery) {
      return pageOf(query, orders);
    }
  }
  @Module({ controllers: [Orders] })
  class Application {}
  const app = await NestFactory.create(Application);
  await app.listen(0, '127.0.0.1');
  const url = `${await app.getUrl()}/orders?limit=${PAGE}`;
  const byFilter: string[] = [];
  for (let after = url; ; after = `${url}&filter.id=$lt:${byFilter.at(-1)}`) {
    const { data } = (await (await fetch(after)).json()) as { data: { id: string }[] };
    if (data.length === 0) break;
    byFilter.push(...data.map(({ id }) => id));
  }
  await app.close();
  const byCursor = { sortableColumns: ['id' as const], paginationType: PaginationType.CURSOR };
  const cursor = await failureOf(() =>
    paginate({ path: '/orders', limit: PAGE }, orders, byCursor),
  );
  await source.destroy();
  await snowflake.close();
  return { rows: stored.length, byFilter: byFilter.join() === stored.join(), cursor };
}

async function typeormManyTenants() {
  const { Ticket, tenant } = await import('./typeorm-many-tenants.js');
  const snowflake = await startSnowflake(options);
  const urls = [DATABASE_URL, OTHER_DATABASE_URL];
  const open = () => Promise.all(urls.map((url) => tenant(url)));
  const sources = await open();
  await Promise.all(sources.map((source) => source.synchronize()));
  const insert = (source: DataSource) =>
    Array.from({ length: 500 }, () => source.manager.insert(Ticket, {}));
  await Promise.all(sources.flatMap(insert));
  const idsOf = async (n: number) => (await sources[n]!.manager.find(Ticket)).map(({ id }) => id);
  const ids = [...(await idsOf(0)), ...(await idsOf(1))];
  const moved = await sources[0]!.manager.findOneByOrFail(Ticket, { id: ids[0]! });
  await sources[1]!.manager.insert(Ticket, moved);
  const bare = new DataSource({ type: 'postgres', url: DATABASE_URL, entities: [Ticket] });
  await bare.initialize();
  const unhooked = await failureOf(() => bare.manager.insert(Ticket, {}));
  const again = await open();
  const found = {
    made: ids.filter(isMade).length,
    distinct: new Set(ids).size,
    moved: (await idsOf(1)).includes(moved.id),
    unhooked,
    openedOnce: again.every((source, n) => source === sources[n]),
  };
  await Promise.all([...sources, bare].map((source) => source.destroy()));
  await snowflake.close();
  return found;
}

async function mikroOrm() {
  const { Order } = await import('./mikroorm-7.js');
  const ByBigint = defineEntity({
    name: 'ByBigint',
    tableName: 'others',
    properties: { id: p.bigint().primary().autoincrement(false) },
  });
  const snowflake = await startSnowflake(options);
  const orm = await MikroORM.init({ clientUrl: DATABASE_URL, entities: [Order, ByBigint] });
  await orm.schema.create();
  const em = orm.em.fork();
  const order = em.create(Order, { label: 'first' });
  em.create(ByBigint, { id: BigInt(snowflake.ids.nextIdString()) });
  await em.flush();
  const read = await orm.em.fork().findOneOrFail(Order, { id: order.id });
  const [other] = await orm.em.fork().findAll(ByBigint);
  const found = {
    made: isMade(order.id),
    stored: (await idsIn('orders')).join() === order.id && read.id === order.id,
    diff: await orm.schema.getUpdateSchemaSQL({ wrap: false }),
    inJson: await failureOf(() => JSON.stringify({ id: other!.id })),
    insert: await failureOf(() => orm.em.fork().insert(Order, { label: 'second' } as never)),
  };
  await orm.close();
  await snowflake.close();
  return found;
}

async function drizzleNewest() {
  const { orders } = await import('./drizzle-10.js');
  const snowflake = await startSnowflake(options);
  await database.query('CREATE TABLE orders (id bigint PRIMARY KEY, note text)');
  const db = drizzle({ client: database });
  const [row] = await db.insert(orders).values({ note: 'a' }).returning();
  const [found] = await db.select().from(orders).where(eq(orders.id, row!.id));
  const many = await db.insert(orders).values([{}, {}]).returning();
  const once = db.insert(orders).values({}).prepare('once');
  await once.execute();
  const rounded = Number(row!.id) as never;
  const said = {
    made: [row!, ...many].filter(({ id }) => isMade(id)).length,
    found: found!.id === row!.id,
    preparedTwice: await failureOf(() => once.execute()),
    rounded: await failureOf(() => db.select().from(orders).where(eq(orders.id, rounded))),
    raw: await failureOf(() => db.execute(sql`INSERT INTO orders (note) VALUES ('b')`)),
  };
  await snowflake.close();
  return said;
}

const CHECKS: Readonly<Record<string, () => Promise<object>>> = {
  'better-auth': betterAuth,
  'keyv-and-cache-manager': keyv,
  bullmq,
  cqrs,
  'event-stores': eventStores,
  kafka,
  microservices,
  'nestjs-paginate': nestjsPaginate,
  'typeorm-many-tenants': typeormManyTenants,
  'mikroorm-7': mikroOrm,
  'drizzle-10': drizzleNewest,
};

console.log(JSON.stringify(await CHECKS[process.argv[2]!]!()));
process.exit();
