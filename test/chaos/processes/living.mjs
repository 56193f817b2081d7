/**
 * Common life of all processes of a fleet: generate IDs, record each before anything else can
 * happen, and record each gap without IDs with its cause. Each process runs in its own folder, with
 * the published library.
 */
import 'reflect-metadata';
import { openSync, writeSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { IdMaker } from 'nestjs-snowflake';

const { CHAOS_FILE = '', CHAOS_BORN_MS = '0', CHAOS_PLACE } = process.env;
/** Frequent enough that few milliseconds have no ID: equal times of two processes then show. */
const TICK_MS = 2;
/** Shorter gaps without IDs are normal on a busy machine. */
const GAP_MS = 200;

const ids = openSync(`${CHAOS_FILE}.ids`, 'a');
const events = openSync(`${CHAOS_FILE}.events`, 'a');

/** Records an event. */
export const tell = (/** @type {object} */ event) =>
  writeSync(events, `${JSON.stringify(event)}\n`);
/** Records IDs. */
export const keep = (/** @type {BigUint64Array} */ made) => writeSync(ids, made);
/** Sends a message to the fleet, which may be gone. */
export const report = (/** @type {object} */ news) => process.send?.(news, () => undefined);
/** The clock that no fault sets: milliseconds of CLOCK_MONOTONIC, the same in all processes. */
export const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n);
/** The same clock with fractions. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/**
 * Starts the application, which ends and pauses on command.
 * @param {new () => object} AppModule
 */
export async function begin(AppModule) {
  // From here on, the first grant takes a moment.
  report({ isUp: true });
  const app = await NestFactory.createApplicationContext(AppModule, {
    logger: false,
    // If the start fails, the process's log contains the reason.
    abortOnError: false,
  });
  app.enableShutdownHooks(['SIGTERM']);
  process.on('message', ({ blockMs }) => {
    for (const endMs = monotonicMs() + blockMs; monotonicMs() < endMs;);
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  return app;
}

/**
 * @param {new () => object} AppModule
 * @param {(idMaker: IdMaker, app: import('@nestjs/common').INestApplicationContext) => void} make
 * generates some IDs and records them; throws the error that prevented one
 */
export async function live(AppModule, make) {
  let lastMs = Number(CHAOS_BORN_MS);
  let lastError = 'starting';
  const app = await begin(AppModule);
  const idMaker = app.get(IdMaker);
  setInterval(() => {
    try {
      make(idMaker, app);
    } catch (error) {
      lastError = error.code ?? error.message;
      return;
    }
    const nowMs = monotonicMs();
    if (nowMs - lastMs > GAP_MS || lastError === 'starting') {
      tell({ kind: 'gap', location: CHAOS_PLACE, fromMs: lastMs, toMs: nowMs, error: lastError });
    }
    lastError = 'none';
    lastMs = nowMs;
  }, TICK_MS);
}
