/**
 * One process of the soak: an application of each kind on each store, and its memory and handles
 * after a garbage collection.
 */
import 'reflect-metadata';
import { mkdirSync, openSync, readdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';
import { BitLayout } from 'nestjs-snowflake/core';
import { etcdLocks } from 'nestjs-snowflake/etcd';
import { CronOnce, DistributedLock, LockModule } from 'nestjs-snowflake/lock';
import { redisLocks } from 'nestjs-snowflake/redis';
import { RedisIdsModule } from 'nestjs-snowflake/redis-ids';
import { SegmentsModule } from 'nestjs-snowflake/segments';
import { sqlLocks } from 'nestjs-snowflake/sql';
import { highestNumber } from './highest-number.mjs';

const { SOAK_STORES = '{}', SOAK_FOLDER = '', SOAK_NAME = '' } = process.env;
/** URLs by the name of the store. */
const STORES = JSON.parse(SOAK_STORES);
const LIMITS = { callTimeoutMs: 3000, startTimeoutMs: 60_000 };
const WORKER_BITS = 3;
const MAKE_MS = 20;
const SAMPLE_MS = 5000;
const TTL_MS = 5000;
const LOCKS = ['order:1', 'order:2', 'order:3'];
const [POOL, PERMITS, CALLER_COUNT] = ['pool', 2, 2];
const JOBS = ['bill'];

const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/** The records of one kind on one store, in a folder of their own. */
function notes(part) {
  const folder = join(SOAK_FOLDER, part);
  mkdirSync(folder, { recursive: true });
  const [ids, events] = ['ids', 'events'].map((end) =>
    openSync(join(folder, `${SOAK_NAME}.${end}`), 'a'),
  );
  return {
    folder,
    keep: (made) => writeSync(ids, made),
    tell: (event) => writeSync(events, `${JSON.stringify(event)}\n`),
  };
}

const applications = [];
async function opened(imports, providers = []) {
  class AppModule {}
  Module({ imports, providers })(AppModule);
  const app = await NestFactory.createApplicationContext(AppModule, {
    logger: false,
    // If the start fails, the process's log contains the reason.
    abortOnError: false,
  });
  applications.push(app);
  return app;
}

// Worker IDs, numbers of segments, and IDs from Redis.

async function making(part, importsOf) {
  const { folder, keep } = notes(part);
  const idMaker = (await opened(importsOf(folder))).get(IdMaker);
  const timer = setInterval(() => {
    const made = [];
    try {
      const count = Math.random() < 0.01 ? 100 : 1 + Math.floor(3 * Math.random());
      while (made.length < count) made.push(idMaker.nextId());
    } catch (error) {
      // A process that is cut off from its store for a moment tries again.
      if (error.code === 'NOT_READY') clearInterval(timer);
    }
    keep(BigUint64Array.from(made));
  }, MAKE_MS);
}

const layout = new BitLayout({
  epoch: '2024-01-01T00:00:00Z',
  fields: [
    ['timestamp', 41],
    ['worker', WORKER_BITS],
    ['sequence', 12],
  ],
});
const ofWorkerIds = (support) => () => [
  ScheduleModule.forRoot(),
  SnowflakeModule.forRoot({ support, layout, ...LIMITS }),
];
const ofSegments = (store) => (folder) => [
  SegmentsModule.forRoot({
    store,
    counter: 'order',
    lastsMs: 2000,
    stepMin: 100,
    stepMax: 500,
    lossGap: 50_000n,
    startAt: () => highestNumber(folder),
    ...LIMITS,
  }),
];
const ofRedisIds = (redis) => () => [
  RedisIdsModule.forRoot({
    redis,
    tag: 'user',
    prefetch: { count: 500, staleMs: 1000 },
    ...LIMITS,
  }),
];

// Locks, permits, several locks at once, and cron jobs that run once.

function locksAt(url) {
  if (url.startsWith('redis')) return redisLocks({ redis: url });
  return url.startsWith('etcd') ? etcdLocks({ url }) : sqlLocks({ url });
}
const lockModule = (locks) =>
  LockModule.forRoot({ locks, ttlMs: TTL_MS, callTimeoutMs: LIMITS.callTimeoutMs });

async function section({ signal, leftMs }, held, tell) {
  const tellEach = (event) => {
    for (const one of held) tell({ ...event, ...one, token: String(one.token) });
  };
  const fromMs = nowMs();
  tellEach({ kind: 'hold', fromMs, untilMs: fromMs + leftMs, lockCount: held.length });
  const end = () => tellEach({ kind: 'end', atMs: nowMs() });
  signal.addEventListener('abort', end, { once: true });
  await sleep(5 + 30 * Math.random());
  if (!signal.aborted) tellEach({ kind: 'write', atMs: nowMs() });
  signal.removeEventListener('abort', end);
  end();
}

/** Takes a permit, one lock, or two locks. */
function taken(distributed, tell) {
  const chance = Math.random();
  const one = ({ lock, token, permit }) => ({ lock, token, ...(permit && { permit }) });
  if (chance < 0.3) {
    return distributed.using(POOL, { permits: PERMITS, waitMs: 1000 }, (it) =>
      section(it, [{ ...one(it), permits: PERMITS }], tell),
    );
  }
  const from = Math.floor(Math.random() * LOCKS.length);
  const names = [LOCKS[from], LOCKS[(from + 1) % LOCKS.length]];
  if (chance < 0.8) {
    return distributed.using(names[0], { waitMs: 1000 }, (it) => section(it, [one(it)], tell));
  }
  return distributed.usingAll(names, { waitMs: 3000 }, (it) =>
    section(
      it,
      [...it.tokens].map(([lock, token]) => ({ lock, token })),
      tell,
    ),
  );
}

async function locking(part, url) {
  const { tell } = notes(part);
  const distributed = (await opened([lockModule(locksAt(url))])).get(DistributedLock);
  const call = async () => {
    for (;;) {
      const code = await taken(distributed, tell).then(
        () => undefined,
        (error) => error.code,
      );
      if (code === 'NOT_READY') return;
      await sleep(300 + 400 * Math.random());
    }
  };
  const callerCount = url.startsWith('sqlite') ? 1 : CALLER_COUNT;
  for (let at = 0; at < callerCount; at++) void call();
}

async function doing(part, url) {
  const { tell } = notes(part);
  const store = locksAt(url);
  const extend = store.extend.bind(store);
  store.extend = async (request) => {
    const answer = await extend(request);
    if (request.note !== undefined && answer.status === 'ok') {
      const { settledMs } = JSON.parse(request.note);
      tell({ kind: 'settled', lock: request.lock, settledMs, atMs: nowMs() });
    }
    return answer;
  };
  const jobs = JOBS.map((name) => {
    class Job {
      async each({ tick, token, skippedCount }) {
        const lock = `cron:${name}`;
        const begun = { lock, tickMs: tick.getTime(), token: String(token), skippedCount };
        tell({ kind: 'run', ...begun, atMs: nowMs() });
        await sleep(5 + 50 * Math.random());
      }
    }
    decorated(Job.prototype, 'each', CronOnce('* * * * * *', { name }));
    return Job;
  });
  await opened([lockModule(store)], jobs);
}

/** Applies a decorator without a compiler. */
function decorated(target, name, decorate) {
  const descriptor = Object.getOwnPropertyDescriptor(target, name);
  decorate(target, name, descriptor);
  Reflect.defineProperty(target, name, descriptor);
}

// The kinds on each store, as in docs/guides/which-store.md.

const OF_ALL = ['ids', 'segments', 'locks', 'cron'];
const KINDS = {
  redis: [...OF_ALL, 'redis-ids'],
  postgres: OF_ALL,
  mariadb: OF_ALL,
  sqlite: OF_ALL,
  etcd: ['ids', 'locks', 'cron'],
  file: ['ids'],
};
const BEGIN = {
  ids: (part, url) => making(part, ofWorkerIds(url)),
  segments: (part, url) => making(part, ofSegments(url)),
  'redis-ids': (part, url) => making(part, ofRedisIds(url)),
  locks: locking,
  cron: doing,
};

process.once('SIGTERM', () => {
  void Promise.all(applications.map((app) => app.close())).finally(() => process.exit(0));
});
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
for (const [store, url] of Object.entries(STORES)) {
  for (const kind of KINDS[store]) {
    console.log(`begins ${store} ${kind}`);
    // Each kind has its own SQLite file, since a file has one writer at a time.
    await BEGIN[kind](`${store} ${kind}`, url.replace('KIND', kind));
  }
}
process.send?.({ isUp: true });

const { tell } = notes('samples');
setInterval(() => {
  globalThis.gc();
  const { rss, heapUsed, external } = process.memoryUsage();
  tell({
    atMs: nowMs(),
    heap: heapUsed + external,
    rss,
    handles: process.getActiveResourcesInfo().length,
    files: readdirSync('/proc/self/fd').length,
  });
}, SAMPLE_MS);
