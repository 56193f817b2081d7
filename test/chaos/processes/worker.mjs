/**
 * One process of the chaos: a Nest application that generates IDs with a leased worker ID.
 */
import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { SnowflakeModule } from 'nestjs-snowflake';
import { BitLayout } from 'nestjs-snowflake/core';
import { redisSupport } from 'nestjs-snowflake/redis';
import { givenClient, optionsOf } from './given-store.mjs';
import { keep, live, monotonicMs, report, tell } from './living.mjs';

const { CHAOS_SUPPORT = '', CHAOS_WORKER_BITS = '3', CHAOS_PLACE = '0' } = process.env;
const { CHAOS_CALL_TIMEOUT_MS = '500', CHAOS_RENEW_MS = '1000' } = process.env;
const { CHAOS_REGIONS = '[]', CHAOS_BURST = '0.002' } = process.env;

const [, QUERY] = CHAOS_SUPPORT.split('?');
const support =
  givenClient === undefined
    ? CHAOS_SUPPORT
    : redisSupport({ redis: givenClient, ...optionsOf(QUERY) });

/** The regions get processes in turns. The first worker bit is then the region's. */
const places = JSON.parse(CHAOS_REGIONS);
const place = places[Number(CHAOS_PLACE) % places.length];
const workerBits = Number(CHAOS_WORKER_BITS);
const given =
  place === undefined
    ? { support }
    : { support: place.support, workerFields: { region: place.region }, regions: place.regions };

class AppModule {}
const layout = new BitLayout({
  epoch: '2024-01-01T00:00:00Z',
  fields: [
    ['timestamp', 41],
    ...(place === undefined ? [] : [['region', 1]]),
    ['worker', place === undefined ? workerBits : workerBits - 1],
    ['sequence', 12],
  ],
});
Module({
  imports: [
    ScheduleModule.forRoot(),
    SnowflakeModule.forRoot({
      ...given,
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
let regionState;

function mint(idMaker) {
  // Usually a few, sometimes so many that IDs run ahead of the clock.
  const count = Math.random() < Number(CHAOS_BURST) ? 10_000 : 1 + Math.floor(Math.random() * 4);
  const made = new BigUint64Array(count);
  try {
    if (count > 4) idMaker.fill(made);
    else for (let at = 0; at < count; at++) made[at] = idMaker.nextId();
  } catch (error) {
    // IDs generated before the error count too.
    keep(made.subarray(0, made.indexOf(0n)));
    throw error;
  }
  keep(made);
  tellLease(idMaker.status);
}

function tellLease(status) {
  if (status.region?.state !== regionState) {
    regionState = status.region?.state;
    tell({ kind: 'region', state: regionState, atMs: monotonicMs() });
  }
  if (status.workerId === workerId) return;
  workerId = status.workerId;
  // Without a number, it has just released one.
  if (workerId === undefined) return;
  tell({ kind: 'grant', workerId, atMs: monotonicMs() });
  report({ workerId });
}

await live(AppModule, mint);
