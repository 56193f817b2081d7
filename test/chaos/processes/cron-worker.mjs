/**
 * One process of the chaos of cron jobs: a Nest application with a few jobs of each second, which
 * writes down when a run began, and when the store has confirmed that its tick is settled. It ends,
 * or stands still, at the stage of a run that it is told.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { CronJobs, CronOnce, LockModule } from 'nestjs-snowflake/lock';
import { givenLocks } from './given-store.mjs';
import { begin, monotonicMs, nowMs, report, tell } from './living.mjs';

const { CHAOS_CALL_TIMEOUT_MS = '1000', CHAOS_JOBS = '5', CHAOS_EFFECTS } = process.env;
/** Of a fleet that is rolled out. */
const { CHAOS_EVERY_S = '1', CHAOS_ZONE = 'UTC', CHAOS_CLASS, CHAOS_PLACE = '0' } = process.env;
const TTL_MS = 3000;
const BLOCKED_MS = 20_000;
const JOBS = Array.from({ length: Number(CHAOS_JOBS) }, (_, at) => `job-${at + 1}`);

/** Where this process is to end. */
let wanted;
process.on('message', ({ stage }) => (wanted = stage ?? wanted));

function isAt(stage) {
  if (stage !== wanted) return false;
  tell({ kind: 'stage', stage });
  wanted = undefined;
  return true;
}

function endAt(stage) {
  if (isAt(stage)) process.kill(process.pid, 'SIGKILL');
}

const store = givenLocks();

const acquire = store.acquire.bind(store);
store.acquire = async (request) => {
  endAt('before the lock is asked for');
  const answer = await acquire(request);
  if (answer.status === 'ok') endAt('after the grant');
  return answer;
};

// A note that the store has confirmed is what the next holder must know.
const extend = store.extend.bind(store);
store.extend = async (request) => {
  const { settledMs, runs = [] } = JSON.parse(request.note ?? '{}');
  const note = `the note of the ${runs[0]?.outcome === 'running' ? 'begin' : 'end'}`;
  if (runs.length > 0) endAt(`before ${note}`);
  const answering = extend(request);
  if (runs.length > 0) setImmediate(() => endAt(`while ${note} is on its way`));
  const answer = await answering;
  if (settledMs !== undefined && answer.status === 'ok') {
    const givenUp = runs.filter(({ outcome }) => outcome === 'given-up');
    const settled = { lock: request.lock, settledMs, givenUp: givenUp.map(({ tickMs }) => tickMs) };
    tell({ kind: 'settled', ...settled, atMs: nowMs() });
    if (runs.length > 0) endAt(`after ${note}`);
  }
  return answer;
};

/** It is there after the first runs. */
let app;
let isShared = false;

async function run(lock, { tick, token, skippedCount }) {
  const begun = { lock, tickMs: tick.getTime(), token: String(token), skippedCount };
  tell({ kind: 'run', ...begun, everyMs: Number(CHAOS_EVERY_S) * 1000, atMs: nowMs() });
  report({ lock });
  const jobs = app?.get(CronJobs).status() ?? [];
  if (!isShared && jobs.some(({ sharedWith }) => sharedWith !== undefined)) {
    isShared = true;
    tell({ kind: 'shared' });
  }
  // Mostly short; at times longer than the next tick, or than the lock lasts without extension.
  await sleep(Math.random() < 0.05 ? TTL_MS * (0.5 + Math.random()) : 5 + Math.random() * 60);
  if (isAt('blocked')) for (const endMs = monotonicMs() + BLOCKED_MS; monotonicMs() < endMs;);
  endAt('before its effect');
  if (effects !== undefined) await effect(begun);
  endAt('after its effect');
}

/** What ends each process that runs it. */
function end({ tick }) {
  tell({ kind: 'poison', tickMs: tick.getTime(), atMs: nowMs() });
  process.kill(process.pid, 'SIGKILL');
}

/*
 * What a run leaves behind, where the table compares tokens: a row of a run that comes late, or of
 * a tick that has one, is not written. Whether it holds the lock it does not ask.
 */
const effects =
  CHAOS_EFFECTS === undefined
    ? undefined
    : new (await import('pg')).default.Pool({ connectionString: CHAOS_EFFECTS, max: 4 });
effects?.on('error', () => undefined);

const EFFECT = `WITH fence AS (
  INSERT INTO fences (job, token, tick) VALUES ($1, $2, $3)
  ON CONFLICT (job) DO UPDATE SET token = excluded.token, tick = excluded.tick
  WHERE fences.token < excluded.token AND fences.tick < excluded.tick RETURNING 1
) INSERT INTO effects (job, token, tick) SELECT $1, $2, $3 FROM fence`;

async function effect({ lock, token, tickMs }) {
  const { rowCount } = await effects.query(EFFECT, [lock, token, tickMs]);
  if (rowCount === 0) tell({ kind: 'refused', lock, tickMs, token });
}

const schedule = `*/${CHAOS_EVERY_S} * * * * *`;
const jobs = JOBS.map((name) => jobOf((one) => run(`cron:${name}`, one), { name }));
if (CHAOS_CLASS !== undefined) {
  jobs.push(
    jobOf((one) => run(`cron:${CHAOS_CLASS}.each`, one), {}),
    jobOf(end, { name: 'poison' }),
  );
}

/** A class is called as the last version calls it. */
function jobOf(body, options) {
  class Job {
    async each(one) {
      return body(one);
    }
  }
  decorated(Job.prototype, 'each', CronOnce(schedule, options));
  return Reflect.defineProperty(Job, 'name', { value: CHAOS_CLASS ?? 'Job' }) && Job;
}

/** Without a compiler a decorator is called by hand. */
function decorated(target, name, decorate) {
  const descriptor = Object.getOwnPropertyDescriptor(target, name);
  decorate(target, name, descriptor);
  Reflect.defineProperty(target, name, descriptor);
}

class AppModule {}
Module({
  imports: [
    LockModule.forRoot({
      locks: store,
      ttlMs: TTL_MS,
      callTimeoutMs: Number(CHAOS_CALL_TIMEOUT_MS),
      ...(CHAOS_CLASS !== undefined && {
        application: Number(CHAOS_PLACE) < 2 ? 'shop' : 'mail',
        cron: { timeZone: CHAOS_ZONE },
      }),
    }),
  ],
  providers: jobs,
})(AppModule);

app = await begin(AppModule);
