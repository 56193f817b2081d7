/**
 * A Nest application as users write it, in a main thread, a worker thread, or a forked worker. It
 * leases from Redis, or uses the lease that it receives, and reports the IDs that it generates on
 * request.
 */
import 'reflect-metadata';
import cluster from 'node:cluster';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { IDistributedSupport, IdMaker, SnowflakeModule } from './lib/index.js';

/** A worker replies on the channel of the request. */
const say = (/** @type {unknown} */ message) =>
  isMainThread ? process.send?.(message) : parentPort?.postMessage(message);

/** @param {import('./lib/index.js').SnowflakeModuleOptions} options */
export async function start(options) {
  class Application {}
  Module({ imports: [ScheduleModule.forRoot(), SnowflakeModule.forRoot(options)] })(Application);
  const logger = /** @type {const} */ ({ logger: false, abortOnError: false });
  const application = await NestFactory.createApplicationContext(Application, logger);
  const support = application.get(IDistributedSupport);
  return { application, ids: application.get(IdMaker), support };
}

/** @param {{ kind: string, count?: number }} question */
async function answer(question, { application, ids }) {
  if (question.kind === 'status') return say({ ...ids.status, leaseEndsAt: undefined });
  if (question.kind === 'fill') {
    // Generates half of the IDs one by one, as requests do.
    const made = new BigUint64Array(question.count ?? 0);
    const half = made.length >> 1;
    for (let at = 0; at < half; at++) made[at] = await nextId(ids);
    for (let at = half; at < made.length; at += 1000) {
      await nextId(ids);
      ids.fill(made.subarray(at, at + 1000));
    }
    return say(Array.from(made, String));
  }
  await application.close();
  say('closed');
}

/** @param {IdMaker} ids */
function nextId(ids) {
  try {
    return ids.nextId();
  } catch {
    return ids.nextIdAsync();
  }
}

async function work(/** @type {any} */ options) {
  const started = await start(options);
  const listen = (/** @type {any} */ question) => void answer(question, started);
  if (isMainThread) process.on('message', listen);
  else parentPort?.on('message', listen);
  say('started');
}

if (!isMainThread && workerData?.options) await work(workerData.options);
else if (cluster.isWorker && process.env.OPTIONS) await work(JSON.parse(process.env.OPTIONS));
