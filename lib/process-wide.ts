/**
 * State shared by all copies of this package in a process: as an ES module and as CommonJS, or in
 * two versions.
 *
 * Guarantee: every copy gets the same object for the same name. Each worker thread has its own
 * global object, so threads do not share it.
 */

/** The object under a name never changes its form; a new form needs a new name. */
export function processWide<T extends object>(name: string, create: () => T): T {
  const known = globalThis as unknown as Record<symbol, T | undefined>;
  return (known[Symbol.for(`nestjs-snowflake:${name}`)] ??= create());
}
