/**
 * One process of the chaos: a Nest application that makes ids as long as it lives and writes each
 * down before anything else can happen, and every stretch without ids with its cause.
 * It runs from a folder of its own, where it finds the library as it is published.
 */
import 'reflect-metadata';
import { openSync, writeSync } from 'node:fs';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';
import { BitLayout } from 'nestjs-snowflake/core';

const { CHAOS_SUPPORT = '', CHAOS_FILE = '', CHAOS_BORN_MS = '0', CHAOS_PLACE } = process.env;
const { CHAOS_WORKER_BITS = '3', CHAOS_CALL_TIMEOUT_MS = '500' } = process.env;
/** So often that few milliseconds stay without an id: equal times of two processes then show. */
const TICK_MS = 2;
/** Shorter stretches without ids are what a busy machine does anyway. */
const GAP_MS = 200;

const ids = openSync(`${CHAOS_FILE}.ids`, 'a');
const events = openSync(`${CHAOS_FILE}.events`, 'a');
const tell = (event) => writeSync(events, `${JSON.stringify(event)}\n`);
/** The clock that no fault sets: milliseconds of CLOCK_MONOTONIC, the same in all processes. */
const monotonicMs = () => Number(process.hrtime.bigint() / 1_000_000n);

class AppModule {}
const layout = new BitLayout({
  epoch: '2024-01-01T00:00:00Z',
  fields: [
    ['timestamp', 41],
    ['worker', Number(CHAOS_WORKER_BITS)],
    ['sequence', 12],
  ],
});
Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRoot({
      support: CHAOS_SUPPORT,
      layout,
      leaseTtlMs: 10_000,
      refreshAliveIntervalMs: 1000,
      callTimeoutMs: Number(CHAOS_CALL_TIMEOUT_MS),
      reserveMs: 1000,
      startTimeoutMs: 20_000,
    }),
  ],
})(AppModule);

let lastMs = Number(CHAOS_BORN_MS);
let lastError = 'starting';
let workerId;

// From here on it takes a moment until it has leased.
process.send?.({ isUp: true }, () => undefined);
const app = await NestFactory.createApplicationContext(AppModule, {
  logger: false,
  // Why it cannot start stands in the log of the process then.
  abortOnError: false,
});
app.enableShutdownHooks(['SIGTERM']);
const idMaker = app.get(IdMaker);

process.on('message', ({ blockMs }) => {
  for (const endMs = monotonicMs() + blockMs; monotonicMs() < endMs;);
});
process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
setInterval(mint, TICK_MS);

function mint() {
  // Mostly a few; at times so many that ids run ahead of the clock.
  const count = Math.random() < 0.002 ? 10_000 : 1 + Math.floor(Math.random() * 4);
  const made = new BigUint64Array(count);
  try {
    if (count > 4) idMaker.fill(made);
    else for (let at = 0; at < count; at++) made[at] = idMaker.nextId();
    writeSync(ids, made);
  } catch (error) {
    lastError = error.code ?? error.message;
    // Those made before the error count too.
    writeSync(ids, made.subarray(0, made.indexOf(0n)));
    return;
  }
  const nowMs = monotonicMs();
  if (nowMs - lastMs > GAP_MS || lastError === 'starting') {
    tell({ kind: 'gap', place: CHAOS_PLACE, fromMs: lastMs, toMs: nowMs, error: lastError });
  }
  lastError = 'none';
  lastMs = nowMs;
  if (idMaker.status.workerId !== workerId) {
    workerId = idMaker.status.workerId;
    // Without a number it has just let go of one.
    if (workerId === undefined) return;
    tell({ kind: 'grant', workerId, atMs: nowMs });
    // Nobody may be there to hear it any more.
    process.send?.({ workerId }, () => undefined);
  }
}
