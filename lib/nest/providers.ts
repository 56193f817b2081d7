/**
 * The Nest providers that every generator has: engine -> IdMaker -> lifecycle.
 *
 * Guarantee: with IdMaker overridden, nothing contacts a store.
 */
import type { InjectionToken, Provider } from '@nestjs/common';
import { DiscoveryService, ModulesContainer } from '@nestjs/core';
import type { Engine } from './engine.js';
import type { RunParts } from './generator-run.js';
import { providerCount, SnowflakeLifecycle } from './lifecycle.js';
import { getIdMakerToken, SNOWFLAKE_LIFECYCLE, SNOWFLAKE_RUN_PARTS } from './tokens.js';

/** It is optional, since Nest does not document it. */
export const MODULES = { token: ModulesContainer, optional: true };

export const ENGINE = Symbol.for('nestjs-snowflake:engine');

/** forRoot() and forRootAsync() take these beside the options. */
export interface SnowflakeModuleExtras {
  /** Whether other modules can inject IdMaker without importing this one. Default true. */
  isGlobal?: boolean | undefined;
  /** Names a further generator, which is injected with `@InjectIdMaker(name)`. */
  name?: string | undefined;
}

/** @param more the further parts of a run, by their tokens */
export function runProviders(
  name: string | undefined,
  more: Readonly<Partial<Record<keyof RunParts, InjectionToken>>> = {},
): Provider[] {
  const idMaker = getIdMakerToken(name);
  return [
    provide(idMaker, (engine: Engine) => engine.idMaker, [ENGINE]),
    provideParts(SNOWFLAKE_RUN_PARTS, { name }, { engine: ENGINE, idMaker, ...more }),
    provide(
      SNOWFLAKE_LIFECYCLE,
      (parts: RunParts, discovery: DiscoveryService, modules?: ModulesContainer) =>
        new SnowflakeLifecycle(parts, { discovery, modules }),
      [SNOWFLAKE_RUN_PARTS, DiscoveryService, MODULES],
    ),
  ];
}

/** If two generators had one token, chance would decide which of them is injected. */
export function twiceFaults(
  modules: ModulesContainer | undefined,
  name: string | undefined,
): string[] {
  const count = providerCount(modules, getIdMakerToken(name));
  if (count < 2) return [];
  const which = name === undefined ? 'without a `name`' : `with the name '${name}'`;
  return [
    `A generator is registered ${count} times ${which}, so an injected IdMaker could be any of ` +
      'them. Call forRoot or forRootAsync once for each generator and give each further one its ' +
      'own `name`. If several modules import one generator, keep the dynamic module in a ' +
      'constant and import that.',
  ];
}

type Dependency = InjectionToken | { readonly token: InjectionToken; readonly optional: boolean };

export function provide(
  token: InjectionToken,
  useFactory: (...dependencies: never[]) => unknown,
  inject: Dependency[],
): Provider {
  return { provide: token, useFactory, inject } as Provider;
}

/** Several providers as one object, so that no constructor takes a long list of them. */
function provideParts(
  token: InjectionToken,
  known: object,
  tokens: Readonly<Record<string, InjectionToken>>,
): Provider {
  const names = Object.keys(tokens);
  const useFactory = (...parts: unknown[]) => ({
    ...known,
    ...Object.fromEntries(names.map((name, at) => [name, parts[at]])),
  });
  return { provide: token, useFactory, inject: Object.values(tokens) };
}
