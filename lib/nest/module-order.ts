/**
 * Our place among the modules of an application: first to start and last to end.
 *
 * Nest runs hooks by the distance of a module from the root: the furthest starts first and ends
 * last, global modules are all equally far, and then the order of imports decides. Promise: where
 * Nest keeps no such distance, nothing is touched, and the order of imports decides as it did.
 */
import type { InjectionToken } from '@nestjs/common';
import type { ModulesContainer } from '@nestjs/core';
import { SNOWFLAKE_LIFECYCLE } from './tokens.js';

/** Beyond Number.MAX_VALUE, which is the distance of every global module. */
const FURTHEST = Infinity;

/** Before the first hook runs, since Nest then sorts the modules once for all hooks. */
export function startFirstEndLast(modules: ModulesContainer | undefined): void {
  for (const module of providing(modules, SNOWFLAKE_LIFECYCLE)) {
    // Not an assignment: that would throw where the property can only be read.
    if (typeof module.distance === 'number') Reflect.set(module, 'distance', FURTHEST);
  }
}

/** In how many modules of the application a token is provided. */
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
