/**
 * One process of the chaos: a Nest application that makes ids under a leased worker id.
 */
import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { SnowflakeModule } from 'nestjs-snowflake';
import { BitLayout } from 'nestjs-snowflake/core';
import { redisSupport } from 'nestjs-snowflake/redis';
import { givenClient, optionsOf } from './given-redis.mjs';
import { keep, live, monotonicMs, report, tell } from './living.mjs';

const { CHAOS_SUPPORT = '', CHAOS_WORKER_BITS = '3' } = process.env;
const { CHAOS_CALL_TIMEOUT_MS = '500', CHAOS_RENEW_MS = '1000' } = process.env;

const support =
  givenClient === undefined
    ? CHAOS_SUPPORT
    : redisSupport({ redis: givenClient, ...optionsOf(CHAOS_SUPPORT.split('?')[1]) });

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
      support,
      layout,
      leaseTtlMs: 10_000,
      refreshAliveIntervalMs: Number(CHAOS_RENEW_MS),
      callTimeoutMs: Number(CHAOS_CALL_TIMEOUT_MS),
      reserveMs: 1000,
      startTimeoutMs: 20_000,
    }),
  ],
})(AppModule);

let workerId;

function mint(idMaker) {
  // Mostly a few; at times so many that ids run ahead of the clock.
  const count = Math.random() < 0.002 ? 10_000 : 1 + Math.floor(Math.random() * 4);
  const made = new BigUint64Array(count);
  try {
    if (count > 4) idMaker.fill(made);
    else for (let at = 0; at < count; at++) made[at] = idMaker.nextId();
  } catch (error) {
    // Those made before the error count too.
    keep(made.subarray(0, made.indexOf(0n)));
    throw error;
  }
  keep(made);
  tellLease(idMaker.status);
}

function tellLease(status) {
  if (status.workerId === workerId) return;
  workerId = status.workerId;
  // Without a number it has just let go of one.
  if (workerId === undefined) return;
  tell({ kind: 'grant', workerId, atMs: monotonicMs() });
  report({ workerId });
}

await live(AppModule, mint);
