/**
 * Our place among the modules of an application: first to start, last to stop.
 *
 * Nest runs hooks by a module's distance from the root: the furthest starts first and stops last.
 * All global modules have the same distance; among them the order of imports decides, as it does
 * for ours if a version of Nest keeps no distance.
 */
import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';

/** Beyond Number.MAX_VALUE, which is the distance of every global module. */
const FURTHEST = Infinity;

/** To be called before the first hook runs: then Nest sorts the modules, once for all hooks. */
export function startFirstEndLast(
  modules: ModulesContainer | undefined,
  token: InjectionToken,
): void {
  for (const module of providing(modules, token)) {
    // An assignment would throw if the property were read-only.
    if (typeof module.distance === 'number') Reflect.set(module, 'distance', FURTHEST);
  }
}

/** How many modules of the application provide a token. */
export function providerCount(modules: ModulesContainer | undefined, token: InjectionToken) {
  return providing(modules, token).length;
}

interface ModuleFace {
  readonly providers?: ReadonlyMap<InjectionToken, unknown>;
  readonly distance?: unknown;
}

function providing(modules: ModulesContainer | undefined, token: InjectionToken): ModuleFace[] {
  const all = [...(modules?.values() ?? [])] as ModuleFace[];
  return all.filter(({ providers }) => providers?.has?.(token));
}
