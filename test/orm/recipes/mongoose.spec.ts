/**
 * Mongoose, up to the wire: no MongoDB is asked. What it sends shows whether a new document has a
 * key of ours, a key of the driver, or none, which MongoDB then makes itself.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Long, type Document } from 'bson';
import mongoose, { Schema, type Connection, type Model } from 'mongoose';
import { currentIdMaker, type RunningSnowflake } from 'nestjs-snowflake';
import { textCopyOf } from '../../../lib/http/snowflake-json.interceptor.js';
import { openMongoWire, type MongoWire } from './support/mongo-wire.js';
import { EARLIER_ID, isMade, startGenerator } from './support/made-ids.js';

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

const ID = { type: String, default: () => currentIdMaker().nextIdString() };
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

/** Every document that a command would make, as far as it is sent. */
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
    // MongoDB makes one where none is sent.
    const isTheirs = (id: unknown) =>
      id === undefined || (id as Document)['_bsontype'] === 'ObjectId';
    return ids.every(isTheirs) ? 'an ObjectId' : JSON.stringify(ids);
  };

  it.each(WRITES)('%s: %s', async (_, outcome, run) => {
    expect(await outcomeOf(run)).toBe(outcome);
  });

  it('reads text as text, and a Long as a Long where nothing casts it', async () => {
    wire.found = [{ _id: EARLIER_ID, label: 'x', customer: Long.fromString(EARLIER_ID) }];
    const [lean] = await orders.find().lean();
    expect(lean!._id).toBe(EARLIER_ID);
    expect(lean).toHaveProperty('customer.low');
    expect(textCopyOf(lean)).toMatchObject({ customer: EARLIER_ID });
  });

  describe('while no generator runs', () => {
    const filled = WRITES.filter(([, outcome]) => outcome === 'filled');
    it.each(filled)('%s', async (call, _, run) => {
      await snowflake.close();
      const drops = call === 'insertMany unordered';
      expect(await outcomeOf(run)).toBe(drops ? 'sends nothing' : 'throws');
    });
  });
});
