/**
 * A Nest application with a BullMQ worker, as users write it: its job makes ids while the
 * application shuts down, and so does a global module of its own. What happened is said on stdout.
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

/** Ids that the job still makes when the application is told to stop, one a turn. */
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
    // A busy machine is no reason to end before the worker id is given back.
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
    // Workers of other modules may start before there is a worker id: that is not tried here.
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

/** A global module of the application: ids in its first hook and in its last. */
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
