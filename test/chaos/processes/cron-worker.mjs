/**
 * One process of the chaos of cron jobs: a Nest application with a few jobs of each second. It
 * records the start of each run, and when the store confirmed that the tick is settled. It ends or
 * pauses at the requested stage of a run.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { CronJobs, CronOnce, LockModule } from 'nestjs-snowflake/lock';
import { givenLocks } from './given-store.mjs';
import { begin, monotonicMs, nowMs, report, tell } from './living.mjs';

const { CHAOS_CALL_TIMEOUT_MS = '1000', CHAOS_JOBS = '5', CHAOS_EFFECTS } = process.env;
/** Settings that a rollout changes. */
const { CHAOS_EVERY_S = '1', CHAOS_ZONE = 'UTC', CHAOS_CLASS, CHAOS_PLACE = '0' } = process.env;
const TTL_MS = 3000;
const BLOCKED_MS = 20_000;
const JOBS = Array.from({ length: Number(CHAOS_JOBS) }, (_, at) => `job-${at + 1}`);

/** The stage at which this process ends. */
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

// The next holder must respect a note that the store confirmed.
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

/** Set after the first runs. */
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
  // Usually short, sometimes longer than the next tick, or than the lock lasts without extension.
  await sleep(Math.random() < 0.05 ? TTL_MS * (0.5 + Math.random()) : 5 + Math.random() * 60);
  if (isAt('blocked')) for (const endMs = monotonicMs() + BLOCKED_MS; monotonicMs() < endMs;);
  endAt('before its effect');
  if (effects !== undefined) await effect(begun);
  endAt('after its effect');
}

/** A job that ends each process that runs it. */
function end({ tick }) {
  tell({ kind: 'poison', tickMs: tick.getTime(), atMs: nowMs() });
  process.kill(process.pid, 'SIGKILL');
}

/*
 * The effect of a run in a table that compares tokens. The table refuses the row of a late run, or
 * of a tick with a row. The effect does not check the lock.
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

/** A job class with the name of the current version. */
function jobOf(body, options) {
  class Job {
    async each(one) {
      return body(one);
    }
  }
  decorated(Job.prototype, 'each', CronOnce(schedule, options));
  return Reflect.defineProperty(Job, 'name', { value: CHAOS_CLASS ?? 'Job' }) && Job;
}

/** Applies a decorator without a compiler. */
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
