/**
 * What every process of a fleet does as long as it lives: it makes ids again and again and writes
 * each down before anything else can happen, and every stretch without ids with its cause. It runs
 * from a folder of its own, where it finds the library as it is published.
 */
import 'reflect-metadata';
import { openSync, writeSync } from 'node:fs';
import { NestFactory } from '@nestjs/core';
import { IdMaker } from 'nestjs-snowflake';

const { CHAOS_FILE = '', CHAOS_BORN_MS = '0', CHAOS_PLACE } = process.env;
/** So often that few milliseconds stay without an id: equal times of two processes then show. */
const TICK_MS = 2;
/** Shorter stretches without ids are what a busy machine does anyway. */
const GAP_MS = 200;

const ids = openSync(`${CHAOS_FILE}.ids`, 'a');
const events = openSync(`${CHAOS_FILE}.events`, 'a');

/** Writes an event down. */
export const tell = (/** @type {object} */ event) =>
  writeSync(events, `${JSON.stringify(event)}\n`);
/** Writes ids down. */
export const keep = (/** @type {BigUint64Array} */ made) => writeSync(ids, made);
/** Tells the fleet; nobody may be there to hear it any more. */
export const report = (/** @type {object} */ news) => process.send?.(news, () => undefined);
/** The clock that no fault sets: milliseconds of CLOCK_MONOTONIC, the same in all processes. */
export const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n);
/** The same, with its fractions. */
export const nowMs = () => Number(process.hrtime.bigint()) / 1e6;

/**
 * Starts the application, which then ends and stands still as it is told to.
 * @param {new () => object} AppModule
 */
export async function begin(AppModule) {
  // From here on it takes a moment until it is granted something.
  report({ isUp: true });
  const app = await NestFactory.createApplicationContext(AppModule, {
    logger: false,
    // Why it cannot start stands in the log of the process then.
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
 *   makes some ids and writes them down; throws what kept it from one
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
