// Jest's environment for Node, which forgets the storages of a spec file when the file has ended.
//
// Node keeps each AsyncLocalStorage that was ever used and, up to version 22, asks all of them at
// every promise. Jest's runner makes one for each spec file, so that the last files of a worker
// took a quarter longer than alone.
//
// A test by which Node warns of a fault fails.
//
// It also lets a file have a package from outside of its context, where it is loaded once for all
// files of the worker, and its code is not slowed down by what Jest makes of the globals.
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
// Modules of Node are the same to all that a worker runs.
asyncHooks.AsyncLocalStorage = NotedStorage;

/** What no test may leave behind: each is a fault of whoever added a listener, or set a timer. */
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
