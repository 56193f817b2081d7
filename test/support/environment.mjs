// Jest's environment for Node, with three changes. At the end of a spec file it disables the file's
// AsyncLocalStorages: up to version 22, Node calls every storage at each promise, so the last files
// of a worker ran a quarter longer. A test fails if Node emits one of the warnings below. A spec
// file can load a package outside its context, once per worker and without the slow globals of
// Jest.
import asyncHooks from 'node:async_hooks';
import { createRequire } from 'node:module';
import { TestEnvironment } from 'jest-environment-node';

/** @type {Set<asyncHooks.AsyncLocalStorage<unknown>>} of the file that runs */
const storages = new Set();

/** @template T @extends {asyncHooks.AsyncLocalStorage<T>} */
class NotedStorage extends asyncHooks.AsyncLocalStorage {
  /** @param {ConstructorParameters<typeof asyncHooks.AsyncLocalStorage>} options */
  constructor(...options) {
    super(...options);
    storages.add(this);
  }
}
// Node's modules are shared by everything in a worker. From 22.23 on, the class has only a getter.
Object.defineProperty(asyncHooks, 'AsyncLocalStorage', { value: NotedStorage });

/** Warnings that no test may cause: each one means a leaked listener or a wrong timer. */
const FAULTS = ['MaxListenersExceededWarning', 'TimeoutOverflowWarning', 'TimeoutNegativeWarning'];
/** @type {Error[]} of the test that runs */
const warnings = [];
process.on('warning', (warning) => {
  if (FAULTS.includes(warning.name)) warnings.push(warning);
});

export default class ForgetfulEnvironment extends TestEnvironment {
  /** @override */
  async setup() {
    await super.setup();
    this.global.requireOutside = createRequire(import.meta.url);
  }

  /** @param {import('@jest/types').Circus.AsyncEvent} event */
  async handleTestEvent(event) {
    if (event.name === 'test_done') event.test.errors.push(...warnings.splice(0));
  }

  /** @override */
  async teardown() {
    await super.teardown();
    for (const storage of storages) storage.disable();
    storages.clear();
  }
}
