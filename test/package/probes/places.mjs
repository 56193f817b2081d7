// What nextId() and nextIdAsync() do in each place of an application, in the words of the table in
// docs/reference/states.md. The time port moves the time, so nothing here sleeps.
import 'reflect-metadata';
import { Module, Scope } from '@nestjs/common';
import { LazyModuleLoader, NestFactory } from '@nestjs/core';
import { Server } from '@nestjs/microservices';
import { ScheduleModule } from '@nestjs/schedule';
import { IdMaker, SnowflakeModule } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';

const PROVIDED = 'provided';
const time = new SettableTime(Date.now());
let warned = [];
const quiet = () => undefined;
const logger = { log: quiet, error: quiet, warn: (text) => void warned.push(text) };

const down = async () => {
  throw new Error('The store is down.');
};
const DOWN = { getNextWorkId: down, refreshAlive: down };

let workerId = 0;

/** An application with one provider. */
function rootOf({ useFactory = quiet, scope, options, imports = [] } = {}) {
  const providers = [{ provide: PROVIDED, useFactory, scope, inject: [IdMaker] }];
  const snowflake = SnowflakeModule.forRoot({ workerId: ++workerId, timers: time, ...options });
  return moduleOf({ imports: [ScheduleModule.forRoot(), snowflake, ...imports], providers });
}

function moduleOf(parts) {
  class OfApplication {}
  Module(parts)(OfApplication);
  return OfApplication;
}

const made = (parts) => NestFactory.create(rootOf(parts), { logger, abortOnError: false });
const context = (root) =>
  NestFactory.createApplicationContext(root, { logger, abortOnError: false });

/** A promise in the end, while the time goes by. */
async function settled(promise) {
  let isOver = false;
  const over = () => void (isOver = true);
  promise.then(over, over);
  while (!isOver) await time.advance(10);
  return promise;
}

/** What both calls do here. */
async function calls(ids) {
  return [outcome(() => ids.nextId()), await waited(ids.nextIdAsync())];
}

function outcome(call) {
  try {
    return typeof call() === 'bigint' ? 'an ID' : 'no ID';
  } catch ({ code, message }) {
    return code ?? message;
  }
}

/** It is named in the log if it waits for a start that has not begun. */
async function waited(asked) {
  let found = 'waits';
  asked.then(
    () => (found = 'an ID'),
    ({ code, message }) => (found = code ?? message),
  );
  const before = warned.length;
  await time.advance(5000);
  if (found !== 'waits') return found;
  return warned.length > before ? 'waits, with a warning' : found;
}

/** Each application is closed, unless it never starts. */
async function within(app, found) {
  const result = await found;
  await settled(app.close());
  return result;
}

const PLACES = {
  async constructor() {
    let found;
    const app = await made({
      useFactory: (ids) => {
        found = [outcome(() => ids.nextId()), ids.nextIdAsync()];
      },
    });
    await settled(app.init());
    const id = await found[1];
    return within(app, [found[0], typeof id === 'bigint' ? 'an ID at startup' : 'no ID']);
  },
  async 'async-factory'() {
    let found;
    const useFactory = (ids) => {
      const asked = ids.nextIdAsync();
      found = [outcome(() => ids.nextId()), asked];
      return asked;
    };
    void made({ useFactory });
    while (found === undefined) await time.advance(0);
    return [found[0], await waited(found[1])];
  },
  async hook() {
    let found;
    const useFactory = (ids) => ({ onModuleInit: async () => void (found = await calls(ids)) });
    const app = await made({ useFactory });
    await settled(app.init());
    return within(app, found);
  },
  async request() {
    const app = await made({ useFactory: (ids) => calls(ids), scope: Scope.REQUEST });
    await settled(app.init());
    return within(app, await app.resolve(PROVIDED));
  },
  async lazy() {
    const app = await made({ options: { workerId: undefined, support: DOWN, lazy: true } });
    await settled(app.init());
    return within(app, calls(app.get(IdMaker)));
  },
  async create() {
    const app = await made();
    const found = await calls(app.get(IdMaker));
    await settled(app.init());
    return within(app, found);
  },
  async context() {
    const app = await settled(context(rootOf()));
    return within(app, calls(app.get(IdMaker)));
  },
  async hybrid() {
    const app = await made();
    let found;
    class OfTest extends Server {
      async listen(callback) {
        found = await calls(app.get(IdMaker));
        callback();
      }
      on() {}
      unwrap() {}
      close() {}
    }
    app.connectMicroservice({ strategy: new OfTest() });
    await settled(app.startAllMicroservices());
    await settled(app.init());
    return within(app, found);
  },
  async 'lazy-module'() {
    const app = await settled(context(rootOf()));
    const providers = [{ provide: PROVIDED, useFactory: (ids) => ids, inject: [IdMaker] }];
    const loaded = await app.get(LazyModuleLoader).load(() => moduleOf({ providers }));
    return within(app, calls(loaded.get(PROVIDED)));
  },
  async 'lazy-import'() {
    const app = await settled(context(moduleOf({ imports: [ScheduleModule.forRoot()] })));
    const loaded = await app.get(LazyModuleLoader).load(() => rootOf({ useFactory: (ids) => ids }));
    return within(app, calls(loaded.get(PROVIDED)));
  },
  async shutdown() {
    let found;
    const useFactory = (ids) => ({
      onApplicationShutdown: async () => void (found = await calls(ids)),
    });
    const app = await made({ useFactory });
    await settled(app.init());
    await settled(app.close());
    return found;
  },
  async closed() {
    const app = await settled(context(rootOf()));
    await settled(app.close());
    return calls(app.get(IdMaker));
  },
  async reload() {
    const before = await settled(context(rootOf({ options: { workerId: 99 } })));
    const closing = before.close();
    const after = await settled(context(rootOf({ options: { workerId: 99 } })));
    await closing;
    return within(after, calls(after.get(IdMaker)));
  },
  async open() {
    const before = await settled(context(rootOf({ options: { workerId: 98 } })));
    const { code } = await settled(context(rootOf({ options: { workerId: 98 } }))).catch(
      (error) => error,
    );
    return within(before, [code, code]);
  },
  async schedulers() {
    const app = await settled(context(rootOf({ imports: [ScheduleModule.forRoot()] })));
    return within(app, calls(app.get(IdMaker)));
  },
};

const found = {};
for (const [place, find] of Object.entries(PLACES)) {
  warned = [];
  found[place] = await find();
}
console.log(JSON.stringify(found));
