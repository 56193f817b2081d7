/**
 * The state that a process has once, however many copies of this package it loads: as an ES module
 * and as CommonJS, or in two versions.
 *
 * Guarantee: every copy is given the same object under the same name. Each worker thread has its
 * own global object, so threads do not share it.
 */

/** The object under a name never changes its form; a version that needs another takes another. */
export function processWide<T extends object>(name: string, create: () => T): T {
  const known = globalThis as unknown as Record<symbol, T | undefined>;
  return (known[Symbol.for(`nestjs-snowflake:${name}`)] ??= create());
}
