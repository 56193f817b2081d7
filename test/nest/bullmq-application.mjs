/**
 * A Nest application with a BullMQ worker, as users write it. Its job and a global module of its
 * own generate IDs while the application shuts down. It prints what happened to stdout.
 */
import 'reflect-metadata';
import { writeSync } from 'node:fs';
import { BullModule, Processor, WorkerHost } from '@nestjs/bullmq';
import { Global, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ScheduleModule } from '@nestjs/schedule';
import { Redis } from 'ioredis';
import { redisSupport } from './lib/stores/redis/index.js';
import { IdMaker, SnowflakeModule, getIdMakerToken } from './lib/index.js';

const { url, namespace, queue, order, isGlobal, names, sharesConnection } = JSON.parse(
  process.env.APPLICATION,
);

/** The number of IDs that the job still generates after SIGTERM, one per turn of the event loop. */
const LATE_COUNT = 300;

const say = (message) => writeSync(1, `${JSON.stringify(message)}\n`);
const turn = () => new Promise((resolve) => setImmediate(resolve));

const connection = new Redis(url, { maxRetriesPerRequest: null });
const supportOf = (name) => {
  const own = `${namespace}-${name ?? ''}`;
  return sharesConnection
    ? redisSupport({ redis: connection, namespace: own })
    : `${url}?namespace=${own}`;
};
const generators = names.map((name) =>
  SnowflakeModule.forRoot({
    support: supportOf(name ?? undefined),
    isGlobal,
    name: name ?? undefined,
    // Long limits, so that the lease outlasts a slow run on a busy machine.
    leaseTtlMs: 300_000,
    callTimeoutMs: 60_000,
  }),
);
const makerTokens = names.map((name) => getIdMakerToken(name ?? undefined));
const visible = isGlobal ? [] : generators;

let isStopping = false;
process.once('SIGTERM', () => (isStopping = true));

class Job extends WorkerHost {
  constructor(...makers) {
    super();
    this.makers = makers;
  }

  async process() {
    // Workers of other modules may start before there is a worker ID. No test covers that.
    for (const maker of this.makers) await maker.nextIdAsync();
    say({ running: true });
    for (let late = 0; late < LATE_COUNT; late += isStopping ? 1 : 0) {
      for (const maker of this.makers) maker.nextId();
      await turn();
    }
    return 'done';
  }
}
Processor(queue)(Job);

/** A global module of the application that generates IDs in its first hook and in its last. */
class Audit {
  constructor(...makers) {
    this.makers = makers;
  }

  onModuleInit() {
    say({ first: this.ids() });
  }

  async onApplicationShutdown() {
    for (let n = 0; n < LATE_COUNT; n++) await turn();
    say({ last: this.ids() });
  }

  ids() {
    try {
      return this.makers.map((maker) => maker.nextIdString());
    } catch ({ code }) {
      return code;
    }
  }
}

const provided = (type) => ({
  provide: type,
  useFactory: (...makers) => new type(...makers),
  inject: makerTokens,
});

class AuditModule {}
Global()(AuditModule);
Module({ imports: visible, providers: [provided(Audit)] })(AuditModule);

class JobModule {}
Module({
  imports: [BullModule.registerQueue({ name: queue }), ...visible],
  providers: [provided(Job)],
})(JobModule);

const parts = {
  bull: [AuditModule, BullModule.forRoot({ connection }), JobModule],
  schedule: [ScheduleModule.forRoot()],
  snowflake: generators,
};

class Application {}
Module({ imports: order.flatMap((part) => parts[part]) })(Application);

const application = await NestFactory.createApplicationContext(Application, { logger: ['error'] });
application.enableShutdownHooks();
void application.get(IdMaker, { strict: false });
say({ ready: true });
