/**
 * One process of the chaos of cron jobs: a Nest application with a few jobs of each second, which
 * writes down when a run began, and when the store has confirmed that its tick is settled.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { CronOnce, LockModule } from 'nestjs-snowflake/lock';
import { givenLocks } from './given-store.mjs';
import { begin, nowMs, report, tell } from './living.mjs';

const { CHAOS_CALL_TIMEOUT_MS = '1000', CHAOS_JOBS = '5', CHAOS_EFFECTS } = process.env;
const TTL_MS = 3000;
const JOBS = Array.from({ length: Number(CHAOS_JOBS) }, (_, at) => `job-${at + 1}`);

const store = givenLocks();

// A note that the store has confirmed is what the next holder must know.
const extend = store.extend.bind(store);
store.extend = async (request) => {
  const answer = await extend(request);
  if (request.note !== undefined && answer.status === 'ok') {
    const { settledMs } = JSON.parse(request.note);
    tell({ kind: 'settled', lock: request.lock, settledMs, atMs: nowMs() });
  }
  return answer;
};

async function run(lock, { tick, token, skippedCount }) {
  const begun = { lock, tickMs: tick.getTime(), token: String(token), skippedCount };
  tell({ kind: 'run', ...begun, atMs: nowMs() });
  report({ lock });
  // Mostly short; at times longer than the next tick, or than the lock lasts without extension.
  await sleep(Math.random() < 0.05 ? TTL_MS * (0.5 + Math.random()) : 5 + Math.random() * 60);
  if (effects !== undefined) await effect(begun);
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

const jobs = JOBS.map((name) => {
  class Job {
    async each(one) {
      return run(`cron:${name}`, one);
    }
  }
  decorated(Job.prototype, 'each', CronOnce('* * * * * *', { name }));
  return Job;
});

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
    }),
  ],
  providers: jobs,
})(AppModule);

await begin(AppModule);
