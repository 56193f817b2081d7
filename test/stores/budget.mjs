/**
 * Counts the cost of one call in each store, in plain Node, because Jest adds promises of its own.
 * It prints a line for each call. The first calls, which connect and prepare, are not counted.
 */
import { createHook } from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import os from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
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

// Holders send both, and their lengths differ between machines.
os.hostname = () => 'host';
syncBuiltinESMExports();
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

globalThis.AbortController = class extends AbortController {
  constructor() {
    super();
    found.controllers++;
  }
};

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

function end(requestsIn) {
  hook.disable();
  for (const chunks of written.values()) {
    const sent = Buffer.concat(chunks);
    found.requests += requestsIn(sent);
    found.bytes += evenTextOf(sent).length;
  }
  return { ...found };
}

const BASE64 = /(?<=")(?=[^"]*[a-z])[\w+/]{8,}={0,2}(?=")/gi;
const RANDOM = /([\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12})[\da-z]*|[\da-f]{40}/g;

/**
 * The text of a request without differences in length: versions start at a random number, and the
 * digits of a time, a port, and a revision depend on the machine.
 */
function evenTextOf(/** @type {Buffer} */ sent) {
  return sent
    .toString('latin1')
    .replaceAll(BASE64, (text) => Buffer.from(text, 'base64').toString('latin1'))
    .replaceAll(RANDOM, (text, uuid = text) => 'x'.repeat(uuid.length))
    .replaceAll(/\d+/g, ({ length }) => (length < 7 ? '0' : '0'.repeat(16)));
}

/** The statements or requests in what a client has sent over one connection. */
const REQUESTS = {
  redis: (/** @type {Buffer} */ sent) => countIn(sent, /^\*\d+\r$/gm),
  postgres: (/** @type {Buffer} */ sent) =>
    framesIn(sent, (at) => 1 + sent.readUInt32BE(at + 1)).filter(([type]) =>
      'EQ'.includes(String.fromCharCode(type)),
    ).length,
  // The first packet of a command has the number 0.
  mysql: (/** @type {Buffer} */ sent) =>
    framesIn(sent, (at) => 4 + sent.readUIntLE(at, 3)).filter(([, , , place]) => place === 0)
      .length,
  etcd: (/** @type {Buffer} */ sent) => countIn(sent, /\bPOST \//g),
};

const countIn = (text, pattern) => String(text).match(pattern)?.length ?? 0;

function framesIn(sent, lengthAt) {
  const frames = [];
  for (let at = 0; at < sent.length; at += lengthAt(at)) frames.push(sent.subarray(at));
  return frames;
}

/** Counts from the start of a call until it has settled and `isOver`. */
function costOf(requestsIn, start, isOver = () => true) {
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
        if (isSettled && isOver()) resolve(end(requestsIn));
        else setImmediate(look);
      };
      setImmediate(look);
    });
  });
}

/** The least of each count in several runs, of the difference to `beside` if there is one. */
async function leastOf({ run, beside, warmUps = WARM_UPS }) {
  for (let count = 0; count < warmUps; count++) await run();
  const costs = [];
  while (costs.length < SAMPLES) costs.push((await run()) ?? []);
  const least = (name) => Math.min(...costs.map((cost) => cost[name] ?? Infinity));
  const others = beside === undefined ? [] : await leastOf({ run: beside });
  return Object.keys(found).map((name, at) => least(name) - (others[at] ?? 0));
}

/*
 * The calls: functions that run one once.
 */

async function lockCalls(store, requestsIn) {
  let fired;
  const timers = {
    after: (ms, run) => setTimeout(() => (fired === undefined ? run() : fired(run)), ms),
    every: (ms, run) => setInterval(run, ms).unref(),
    cancel: clearTimeout,
  };
  const options = { ttlMs: TTL_MS, drainMs: 0, application: 'budget', timers };
  const locks = new DistributedLock(store, options);
  await locks.using('lock', { waitMs: 60_000 }, () => undefined);
  let held;
  const acquire = async () => void (held = await locks.acquire('lock', { waitMs: 60_000 }));
  const release = () => held.release();
  const acquired = async () => {
    const cost = await costOf(requestsIn, acquire);
    await release();
    return cost;
  };
  const released = async () => {
    await acquire();
    return costOf(requestsIn, release);
  };
  const extended = async () => {
    await acquire();
    const extend = await new Promise((resolve) => (fired = resolve));
    fired = undefined;
    // The timer that watches over silence restarts here, and not in the extension.
    await locks.using('other', () => undefined);
    const { leftMs } = held;
    const isLost = () => held.leftMs === 0;
    const cost = await costOf(requestsIn, extend, () => held.leftMs > leftMs || isLost());
    const counts = !isLost();
    await release();
    return counts ? cost : undefined;
  };
  // An extension waits for its time, and the calls before it have warmed it up.
  const extend = { run: extended, warmUps: 1 };
  const calls = { acquire: { run: acquired }, release: { run: released }, extend };
  return { calls, close: () => locks.close() };
}

async function leaseCalls(support, requestsIn) {
  const config = await resolveOptions({ support, application: 'budget' }, true);
  const { keeper, idMaker } = workerEngine(config, config.support, undefined);
  await keeper.start();
  const calls = {
    renewal: { run: () => costOf(requestsIn, () => keeper.refresh()) },
    nextId: { run: () => costOf(requestsIn, () => void idMaker.nextId()) },
  };
  return { calls, close: () => keeper.stop() };
}

async function counterCalls(store, requestsIn) {
  const terms = { counter: 'order', startAt: () => 0n, stepMin: 10, stepMax: 10 };
  // While the clock stands still, more numbers are taken when two steps are left.
  const clock = { now: () => Date.UTC(2026) };
  const { ids, close } = await startSegments({ ...terms, store, clock, application: 'budget' });
  const isFilled = () => ids.status.buffered > 20;
  ids.nextIds(10);
  while (!isFilled()) await turn();
  const refill = () => {
    while (isFilled()) ids.nextId();
    return costOf(requestsIn, () => void ids.nextId(), isFilled);
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
async function insertCalls(options, requestsIn, sql) {
  const sources = [OURS, HAND].map(
    (entity) => new DataSource({ ...options, entities: [entity], synchronize: true }),
  );
  hookDataSource(sources[0]);
  for (const source of sources) await source.initialize();
  await sources[0].query(sql);
  const [ours, hand] = sources.map((source, at) => source.getRepository([OURS, HAND][at]));
  let id = 1n << 58n;
  const insert = {
    run: () => costOf(requestsIn, () => ours.insert({})),
    beside: () => costOf(requestsIn, () => hand.insert({ id: String(id++) })),
  };
  return { calls: { insert }, close: () => Promise.all(sources.map((one) => one.destroy())) };
}

/*
 * The stores. Memory and files send nothing: operations on files and calls of SQLite's driver count
 * as requests.
 */

const nothing = () => 0;

const STORES = {
  Redis: (url) => [
    locksOf(url).then((store) => lockCalls(store, REQUESTS.redis)),
    leaseCalls(url, REQUESTS.redis),
    // Without it, the counters require the append-only file.
    countersOf(`${url}&lossWindowMs=100`).then((store) => counterCalls(store, REQUESTS.redis)),
  ],
  PostgreSQL: (url) => sqlCalls(url, 'postgres'),
  MariaDB: (url) => sqlCalls(url, 'mysql'),
  async SQLite(path) {
    const options = { type: 'better-sqlite3', database: path, driver: Database };
    const insert = await insertCalls(options, nothing, registryTable('sqlite'));
    const database = countedHandle(new Database(path));
    return [
      lockCalls(sqlLocks({ database }), nothing),
      leaseCalls(sqliteSupport({ database }), nothing),
      counterCalls(sqlCounters({ database }), nothing),
      insert,
    ];
  },
  etcd: (url) => [
    locksOf(url).then((store) => lockCalls(store, REQUESTS.etcd)),
    leaseCalls(url, REQUESTS.etcd),
    countersOf(url).then((store) => counterCalls(store, REQUESTS.etcd)),
  ],
  folder: (url) => [leaseCalls(url, nothing)],
  memory: () => [
    lockCalls(new MemoryLocks(), nothing),
    leaseCalls(new MemorySupport(), nothing),
    counterCalls(new MemoryCounters(), nothing),
  ],
};

async function sqlCalls(url, type) {
  const requestsIn = REQUESTS[type];
  const insert = await insertCalls(
    { type, url: url.split('?')[0] },
    requestsIn,
    registryTable(type),
  );
  return [
    locksOf(url).then((store) => lockCalls(store, requestsIn)),
    leaseCalls(url, requestsIn),
    countersOf(url).then((store) => counterCalls(store, requestsIn)),
    insert,
  ];
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
  const calls = Object.assign({}, ...parts.map((part) => part.calls));
  for (const call of CALLS.filter((one) => one in calls)) {
    const costs = await leastOf(calls[call]);
    process.stdout.write(`${JSON.stringify([name, call, ...costs])}\n`);
  }
  await Promise.all(parts.map((part) => part.close()));
}
await snowflake.close();
