/**
 * Mongoose up to the wire, without MongoDB. The commands show whether a new document has our
 * key, a key of the driver, or none. MongoDB creates a missing key itself.
 */
import { createServer, type Socket, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deserialize, serialize, Long, type Document } from 'bson';
import mongoose, { Schema, type Connection, type Model } from 'mongoose';
import { currentIdMaker, type RunningSnowflake } from 'nestjs-snowflake';
import { textCopyOf } from '../../../lib/http/snowflake-json.interceptor.js';
import { EARLIER_ID, isMade, startGenerator } from '../odd-ids.js';

// Implements the part of the MongoDB protocol that Mongoose needs, and records the commands. It
// stores nothing. It shows which keys leave the process, not what a server does with them.

const OP_REPLY = 1;
const OP_QUERY = 2004;
const OP_MSG = 2013;
const HEADER_BYTES = 16;

const HELLO = {
  isWritablePrimary: true,
  ismaster: true,
  helloOk: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 21,
};

interface MongoWire {
  readonly url: string;
  /** Write commands in the order of their arrival. Each test empties the list. */
  readonly writes: Document[];
  /** The result of every `find`. */
  found: Document[];
  close(): Promise<void>;
}

async function openMongoWire(): Promise<MongoWire> {
  const sockets = new Set<Socket>();
  const wire: MongoWire = {
    url: '',
    writes: [],
    found: [],
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    let rest = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= HEADER_BYTES && rest.length >= rest.readInt32LE(0)) {
        const message = rest.subarray(0, rest.readInt32LE(0));
        rest = rest.subarray(message.length);
        socket.write(answerTo(message, wire));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(wire, { url: `mongodb://127.0.0.1:${port}/shop` });
}

function answerTo(message: Buffer, wire: MongoWire): Buffer {
  // Only the first command of a connection uses the older format.
  if (message.readInt32LE(12) === OP_QUERY) {
    const before = Buffer.alloc(20);
    before.writeInt32LE(1, 16);
    return framed(OP_REPLY, message, Buffer.concat([before, serialize({ ...HELLO, ok: 1 })]));
  }
  const answer = serialize({ ...answerOf(commandIn(message), wire), ok: 1 });
  return framed(OP_MSG, message, Buffer.concat([Buffer.alloc(5), answer]));
}

function framed(code: number, request: Buffer, body: Uint8Array): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  [HEADER_BYTES + body.length, 0, request.readInt32LE(4), code].forEach((field, at) => {
    header.writeInt32LE(field, at * 4);
  });
  return Buffer.concat([header, body]);
}

/** Reads a command message: a document, then lists of documents that belong to it. */
function commandIn(message: Buffer): Document {
  const command: Document = {};
  let at = HEADER_BYTES + 4;
  while (at < message.length) {
    const kind = message.readUInt8(at++);
    const size = message.readInt32LE(at);
    const section = message.subarray(at, at + size);
    if (kind === 0) Object.assign(command, deserialize(section));
    else Object.assign(command, listIn(section));
    at += size;
  }
  return command;
}

function listIn(section: Buffer): Document {
  const nameEnd = section.indexOf(0, 4);
  const list: Document[] = [];
  for (let at = nameEnd + 1; at < section.length; at += section.readInt32LE(at)) {
    list.push(deserialize(section.subarray(at, at + section.readInt32LE(at))));
  }
  return { [section.toString('utf8', 4, nameEnd)]: list };
}

function answerOf(command: Document, wire: MongoWire): Document {
  const [name = ''] = Object.keys(command);
  if (/^(hello|ismaster)$/i.test(name)) return HELLO;
  if (name === 'find') {
    return { cursor: { id: 0n, ns: 'shop.orders', firstBatch: wire.found } };
  }
  if (['insert', 'update', 'findAndModify'].includes(name)) wire.writes.push(command);
  if (name === 'findAndModify') return { value: null };
  const documents = command['documents'] as Document[] | undefined;
  return { n: documents?.length ?? 1, nModified: 0 };
}

interface Line {
  _id: string;
  label: string;
}
interface Order {
  _id: string;
  label: string;
  lines: Line[];
}
type Orders = Model<Order>;

const ID = { type: String, cast: false, default: () => currentIdMaker().nextIdString() };
const lineSchema = new Schema<Line>({ _id: ID, label: String });
const orderSchema = new Schema<Order>({
  _id: ID,
  label: { type: String, required: true },
  lines: [lineSchema],
});

type Outcome = 'filled' | 'an ObjectId' | 'sends nothing' | 'throws';
type Write = readonly [call: string, outcome: Outcome, run: (orders: Orders) => unknown];

const order = () => ({ label: 'x' }) as Order;
const upsert = { upsert: true };

const WRITES: readonly Write[] = [
  ['create', 'filled', (orders) => orders.create(order())],
  ['save', 'filled', (orders) => new orders(order()).save()],
  ['create of many', 'filled', (orders) => orders.create([order(), order()])],
  [
    'create with subdocuments',
    'filled',
    (orders) => orders.create({ ...order(), lines: [order()] }),
  ],
  ['insertMany', 'filled', (orders) => orders.insertMany([order(), order()])],
  ['insertMany unordered', 'filled', (orders) => orders.insertMany([order()], { ordered: false })],
  ['bulkSave', 'filled', (orders) => orders.bulkSave([new orders(order()), new orders(order())])],
  ['updateOne upsert', 'filled', (orders) => orders.updateOne({}, order(), upsert)],
  ['updateMany upsert', 'filled', (orders) => orders.updateMany({}, order(), upsert)],
  ['findOneAndUpdate upsert', 'filled', (orders) => orders.findOneAndUpdate({}, order(), upsert)],
  [
    'bulkWrite insertOne',
    'filled',
    (orders) => orders.bulkWrite([{ insertOne: { document: order() } }]),
  ],
  [
    'bulkWrite updateOne upsert',
    'filled',
    (orders) => orders.bulkWrite([{ updateOne: { filter: {}, update: order(), upsert: true } }]),
  ],
  ['insertMany lean', 'an ObjectId', (orders) => orders.insertMany([order()], { lean: true })],
  ['replaceOne upsert', 'an ObjectId', (orders) => orders.replaceOne({}, order(), upsert)],
  [
    'findOneAndReplace upsert',
    'an ObjectId',
    (orders) => orders.findOneAndReplace({}, order(), upsert),
  ],
  [
    'bulkWrite replaceOne upsert',
    'an ObjectId',
    (orders) =>
      orders.bulkWrite([{ replaceOne: { filter: {}, replacement: order(), upsert: true } }]),
  ],
  [
    'updateOne upsert without setDefaultsOnInsert',
    'an ObjectId',
    (orders) => orders.updateOne({}, order(), { ...upsert, setDefaultsOnInsert: false }),
  ],
  [
    'collection.insertOne',
    'an ObjectId',
    (orders) => orders.collection.insertOne(order() as never),
  ],
];

/** Every document that a command would create, as far as the command contains it. */
function documentsOf(command: Document): Document[] {
  const changes = [
    command['update'],
    ...(command['updates'] ?? []).map((one: Document) => one['u']),
  ];
  const made = changes
    .filter((change) => typeof change === 'object')
    .map((change: Document) => ({ ...change['$set'], ...change, ...change['$setOnInsert'] }));
  const documents: Document[] = [...(command['documents'] ?? []), ...made];
  return documents.flatMap((document) => [document, ...(document['lines'] ?? [])]);
}

describe('Mongoose', () => {
  let wire: MongoWire;
  let connection: Connection;
  let orders: Orders;
  let snowflake: RunningSnowflake;
  beforeAll(async () => {
    wire = await openMongoWire();
    snowflake = await startGenerator();
    const options = { autoIndex: false, autoCreate: false };
    connection = await mongoose.createConnection(wire.url, options).asPromise();
    orders = connection.model('Order', orderSchema, 'orders');
  });
  afterAll(async () => {
    await connection?.close();
    await wire?.close();
    await snowflake?.close();
  });

  const outcomeOf = async (run: Write[2]): Promise<string> => {
    wire.writes.length = 0;
    try {
      await run(orders);
    } catch (error) {
      return /No generator is running/.test(String(error)) ? 'throws' : String(error);
    }
    const ids = wire.writes.flatMap(documentsOf).map(({ _id }) => _id as unknown);
    if (ids.length === 0) return 'sends nothing';
    if (ids.every((id) => typeof id === 'string' && isMade(id))) return 'filled';
    // MongoDB creates a key if the document has none.
    const isTheirs = (id: unknown) =>
      id === undefined || (id as Document)['_bsontype'] === 'ObjectId';
    return ids.every(isTheirs) ? 'an ObjectId' : JSON.stringify(ids);
  };

  it.each(WRITES)('%s: %s', async (_, outcome, run) => {
    expect(await outcomeOf(run)).toBe(outcome);
  });

  it('reads strings as strings, and keeps a Long unless the schema casts it', async () => {
    wire.found = [{ _id: EARLIER_ID, label: 'x', customer: Long.fromString(EARLIER_ID) }];
    const [lean] = await orders.find().lean();
    expect(lean!._id).toBe(EARLIER_ID);
    expect(lean).toHaveProperty('customer.low');
    expect(textCopyOf(lean)).toMatchObject({ customer: EARLIER_ID });
  });

  describe('without a running generator', () => {
    const filled = WRITES.filter(([, outcome]) => outcome === 'filled');
    it.each(filled)('%s', async (call, _, run) => {
      await snowflake.close();
      const drops = call === 'insertMany unordered';
      expect(await outcomeOf(run)).toBe(drops ? 'sends nothing' : 'throws');
    });
  });
});
