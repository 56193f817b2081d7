/**
 * State that belongs to the process and not to a copy of this package.
 *
 * Promise: an application of ES modules and an entity loaded by require() see the same, also where
 * a bundler or a loader brought the package in twice.
 */

export function processWide<T extends object>(name: string, make: () => T): T {
  const key = Symbol.for(`nestjs-snowflake:${name}`);
  const holder = globalThis as unknown as Record<symbol, T | undefined>;
  return (holder[key] ??= make());
}
