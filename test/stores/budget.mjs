/**
 * Counts the cost of one call in each store, in plain Node, because Jest adds promises of its own.
 * It prints a line for each call. The first calls, which connect and prepare, are not counted.
 */
import { createHook } from 'node:async_hooks';
import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import os from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import Database from 'libsql';
import { DataSource, Entity, PrimaryColumn } from 'typeorm';
import { DistributedLock } from './lib/lock/distributed-lock.js';
import { workerEngine } from './lib/nest/engine.js';
import { resolveOptions } from './lib/nest/resolve-options.js';
import { startSegments } from './lib/nest/segments/index.js';
import { startSnowflake } from './lib/nest/start-snowflake.js';
import { hookDataSource, SnowflakeId } from './lib/orm/typeorm/index.js';
import { MemoryCounters, MemoryLocks, MemorySupport } from './lib/stores/memory/index.js';
import { countersOf, locksOf } from './lib/stores/schemes.js';
import { registryTable, sqlCounters, sqliteSupport, sqlLocks } from './lib/stores/sql/index.js';

// Requests contain these, whose lengths differ between machines and runs.
os.hostname = () => 'host';
crypto.randomInt = (...range) => Math.floor(range.reduce((sum, one) => sum + one) / 2);
syncBuiltinESMExports();
process.hrtime.bigint = () => 10n ** 15n;
Object.defineProperty(process, 'pid', { value: 10_000 });
Logger.overrideLogger(false);

/** An extension comes after a third of it. */
const TTL_MS = 900;
/** From then on, versions of rows have two digits. */
const WARM_UPS = 10;
/** Other work of the process, such as a timer that restarts, only adds to a count. */
const SAMPLES = 5;

/*
 * Counts everything in the process between begin() and end().
 */

/** The store whose calls are counted. */
let store;
const found = { promises: 0, timers: 0, controllers: 0, requests: 0, bytes: 0 };
/** @type {Map<Socket, Buffer[]>} */
const written = new Map();

const hook = createHook({
  init(_, type) {
    if (type === 'PROMISE') found.promises++;
    if (type === 'Timeout') found.timers++;
    if (type.startsWith('FSREQ')) found.requests++;
  },
});

class CountedController extends AbortController {
  constructor() {
    super();
    found.controllers++;
  }
}
Object.assign(globalThis, { AbortController: CountedController });

const sockets = /** @type {any} */ (Socket.prototype);
const { _writeGeneric: write } = sockets;
sockets._writeGeneric = function writeNoted(isList, data, ...rest) {
  const chunks = isList ? data.map(({ chunk }) => chunk) : [data];
  written.set(this, [...(written.get(this) ?? []), ...chunks.map((chunk) => Buffer.from(chunk))]);
  return write.call(this, isList, data, ...rest);
};

function begin() {
  for (const name of Object.keys(found)) found[name] = 0;
  written.clear();
  hook.enable();
}

function end() {
  hook.disable();
  for (const chunks of written.values()) {
    const sent = Buffer.concat(chunks);
    const [requests, bytes = sent.length] = WIRES[store]?.(sent) ?? [0, 0];
    found.requests += requests;
    found.bytes += bytes;
  }
  return { ...found };
}

const BASE64 = /(?<="(?:key|range_end|value)":")[\w+/=]+/g;
const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}[\da-z]*/g;

/**
 * The statements or requests in what a client has sent over one connection, and their bytes if
 * these depend on the server.
 */
const WIRES = {
  Redis: (/** @type {Buffer} */ sent) => [countIn(sent, /^\*\d+\r$/gm)],
  PostgreSQL(/** @type {Buffer} */ sent) {
    const frames = framesIn(sent, (at) => 1 + sent.readUInt32BE(at + 1));
    return [frames.filter(([type]) => 'EQ'.includes(String.fromCharCode(type))).length];
  },
  MariaDB(/** @type {Buffer} */ sent) {
    const frames = framesIn(sent, (at) => 4 + sent.readUIntLE(at, 3));
    // The first packet of a command has the number 0.
    return [frames.filter(([, , , place]) => place === 0).length];
  },
  etcd(/** @type {Buffer} */ sent) {
    const text = String(sent)
      .replaceAll(BASE64, (value) => String(Buffer.from(value, 'base64')))
      .replaceAll(UUID, 'uuid');
    // A number is an ID of the cluster, a port, a revision, or a length that contains them.
    return [countIn(sent, /\bPOST \//g), text.replaceAll(/\d+/g, '0').length];
  },
};

const countIn = (text, pattern) => String(text).match(pattern)?.length ?? 0;

function framesIn(sent, lengthAt) {
  const frames = [];
  for (let at = 0; at < sent.length; at += lengthAt(at)) frames.push(sent.subarray(at));
  return frames;
}

/** Counts from the start of a call until it has settled and `isOver`. */
function costOf(start, isOver = () => true) {
  return new Promise((resolve, reject) => {
    // The caller first awaits this promise, which makes another one.
    setImmediate(() => {
      begin();
      const call = start();
      let isSettled = call === undefined;
      hook.disable();
      call?.then(() => (isSettled = true), reject);
      hook.enable();
      const look = () => {
        if (isSettled && isOver()) resolve(end());
        else setImmediate(look);
      };
      setImmediate(look);
    });
  });
}

/** The least of each count in several runs, of the difference to `beside` if there is one. */
async function leastOf({ run, beside, warmUps = WARM_UPS }) {
  const once = async () => {
    // Calls in one millisecond need not write the time again.
    await sleep(2);
    return run();
  };
  for (let count = 0; count < warmUps; count++) await once();
  const costs = [];
  while (costs.length < SAMPLES) costs.push((await once()) ?? []);
  const least = (name) => Math.min(...costs.map((cost) => cost[name] ?? Infinity));
  const others = beside === undefined ? [] : await leastOf({ run: beside });
  return Object.keys(found).map((name, at) => least(name) - (others[at] ?? 0));
}

/*
 * The calls: functions that run one once.
 */

async function lockCalls(store) {
  let fired;
  const timers = {
    after: (ms, run) => setTimeout(() => (fired === undefined ? run() : fired(run)), ms),
    every: (ms, run) => setInterval(() => run(), ms).unref(),
    cancel: clearTimeout,
  };
  const options = { ttlMs: TTL_MS, drainMs: 0, application: 'budget', timers };
  const locks = new DistributedLock(store, options);
  await locks.using('lock', { waitMs: 60_000 }, () => undefined);
  let held;
  const acquire = async () => void (held = await locks.acquire('lock', { waitMs: 60_000 }));
  const release = () => held.release();
  const acquired = async () => {
    const cost = await costOf(acquire);
    await release();
    return cost;
  };
  const released = async () => {
    await acquire();
    return costOf(release);
  };
  const extended = async () => {
    await acquire();
    const extend = await new Promise((resolve) => (fired = resolve));
    fired = undefined;
    // The timer that watches over silence restarts here, and not in the extension.
    await locks.using('other', () => undefined);
    const { leftMs } = held;
    const isLost = () => held.leftMs === 0;
    const cost = await costOf(extend, () => held.leftMs > leftMs || isLost());
    const counts = !isLost();
    await release();
    return counts ? cost : undefined;
  };
  // An extension waits for its time, and the calls before it have warmed it up.
  const extend = { run: extended, warmUps: 1 };
  const calls = { acquire: { run: acquired }, release: { run: released }, extend };
  return { calls, close: () => locks.close() };
}

async function leaseCalls(support) {
  // Each worker ID has one digit.
  const layout = [
    ['timestamp', 41],
    ['worker', 3],
    ['sequence', 12],
  ];
  const config = await resolveOptions({ support, layout, application: 'budget' }, true);
  const { keeper, idMaker } = workerEngine(config, config.support, undefined);
  await keeper.start();
  const calls = {
    renewal: { run: () => costOf(() => keeper.refresh()) },
    nextId: { run: () => costOf(() => void idMaker.nextId()) },
  };
  return { calls, close: () => keeper.stop() };
}

async function counterCalls(store) {
  const terms = { counter: 'order', startAt: () => 0n, stepMin: 10, stepMax: 10 };
  // While the clock stands still, more numbers are taken when two steps are left.
  const clock = { now: () => Date.UTC(2026) };
  const { ids, close } = await startSegments({ ...terms, store, clock, application: 'budget' });
  const isFilled = () => ids.status.buffered > 20;
  ids.nextIds(10);
  while (!isFilled()) await sleep(1);
  const refill = () => {
    while (isFilled()) ids.nextId();
    return costOf(() => void ids.nextId(), isFilled);
  };
  return { calls: { refill: { run: refill } }, close };
}

function entityOf(name, key) {
  const entity = { [name]: class {} }[name];
  Entity()(entity);
  key(entity.prototype, 'id');
  return entity;
}
const OURS = entityOf('Ours', SnowflakeId());
const HAND = entityOf('Hand', PrimaryColumn({ type: 'bigint' }));

/**
 * The difference to an insert with an ID by hand, since TypeORM determines the rest.
 *
 * @param options of TypeORM
 * @param sql the statement that creates the table of the other calls
 */
async function insertCalls(options, sql) {
  const sources = [OURS, HAND].map(
    (entity) => new DataSource({ ...options, entities: [entity], synchronize: true }),
  );
  hookDataSource(sources[0]);
  for (const source of sources) await source.initialize();
  await sources[0].query(sql);
  const [ours, hand] = sources.map((source, at) => source.getRepository([OURS, HAND][at]));
  let id = 1n << 58n;
  const insert = {
    run: () => costOf(() => ours.insert({})),
    beside: () => costOf(() => hand.insert({ id: String(id++) })),
  };
  return { calls: { insert }, close: () => Promise.all(sources.map((one) => one.destroy())) };
}

/*
 * The stores. Operations on files and calls of SQLite's driver count as requests.
 */

const STORES = {
  Redis: (url) => serverCalls(url, `${url}&lossWindowMs=100`),
  PostgreSQL: (url) => sqlCalls(url, 'postgres'),
  MariaDB: (url) => sqlCalls(url, 'mysql'),
  etcd: (url) => serverCalls(url),
  async SQLite(path) {
    const options = { type: 'better-sqlite3', database: path, driver: Database };
    const insert = await insertCalls(options, registryTable('sqlite'));
    const database = countedHandle(new Database(path));
    return [
      lockCalls(sqlLocks({ database })),
      leaseCalls(sqliteSupport({ database })),
      counterCalls(sqlCounters({ database })),
      insert,
    ];
  },
  folder: (url) => [leaseCalls(url)],
  memory: () => [
    lockCalls(new MemoryLocks()),
    leaseCalls(new MemorySupport()),
    counterCalls(new MemoryCounters()),
  ],
};

/** @param countersUrl without a loss window, counters in Redis require the append-only file */
const serverCalls = async (url, countersUrl = url) => [
  lockCalls(await locksOf(url)),
  leaseCalls(url),
  counterCalls(await countersOf(countersUrl)),
];

async function sqlCalls(url, type) {
  const options = { type, url: url.split('?')[0] };
  const insert = await insertCalls(options, registryTable(type));
  return [insert, ...(await serverCalls(url))];
}

function countedHandle(handle) {
  const counted =
    (object, name) =>
    (...args) => {
      found.requests++;
      return object[name](...args);
    };
  return {
    get inTransaction() {
      return handle.inTransaction;
    },
    exec: counted(handle, 'exec'),
    prepare(sql) {
      const statement = handle.prepare(sql);
      const { reader } = statement;
      return { reader, all: counted(statement, 'all'), run: counted(statement, 'run') };
    },
  };
}

const CALLS = ['acquire', 'release', 'extend', 'renewal', 'refill', 'nextId', 'insert'];

const snowflake = await startSnowflake({ workerId: 1, application: 'budget' });
const opened = await Promise.all(
  Object.entries(JSON.parse(process.env.STORES)).map(async ([name, url]) => {
    return { name, parts: await Promise.all(await STORES[name](url)) };
  }),
);
for (const { name, parts } of opened) {
  store = name;
  const calls = Object.assign({}, ...parts.map((part) => part.calls));
  for (const call of CALLS.filter((one) => one in calls)) {
    const costs = await leastOf(calls[call]);
    process.stdout.write(`${JSON.stringify([name, call, ...costs])}\n`);
  }
  await Promise.all(parts.map((part) => part.close()));
}
await snowflake.close();
