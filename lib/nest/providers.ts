/**
 * The Nest providers that every generator has: engine -> IdMaker -> lifecycle.
 *
 * Guarantee: with IdMaker overridden, nothing contacts a store.
 */
import {
  ConfigurableModuleBuilder,
  type DynamicModule,
  type InjectionToken,
  type Provider,
} from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, ModulesContainer } from '@nestjs/core';
import type { Engine } from './engine.js';
import type { RunParts } from './generator-run.js';
import { providing, SnowflakeLifecycle } from './lifecycle.js';
import {
  getIdMakerToken,
  SNOWFLAKE_LIFECYCLE,
  SNOWFLAKE_OPTIONS,
  SNOWFLAKE_RUN_PARTS,
} from './tokens.js';

/** Optional, because Nest does not document it. */
export const MODULES = { token: ModulesContainer, optional: true };

export const ENGINE = Symbol.for('nestjs-snowflake:engine');

/** Options of forRoot() and forRootAsync() besides those of the generator. */
export interface SnowflakeModuleExtras {
  /** True if other modules can inject IdMaker without importing this one. Default true. */
  isGlobal?: boolean | undefined;
  /** The name of a further generator; inject it with `@InjectIdMaker(name)`. */
  name?: string | undefined;
}

/** The parts of a module besides the providers of every generator. */
interface OwnParts {
  /** One of them provides ENGINE from the given options. */
  readonly providers: readonly Provider[];
  /** The tokens of further parts of a run, which the module exports. */
  readonly parts?: Readonly<Partial<Record<keyof RunParts, InjectionToken>>>;
}

/** Builds the base class of a generator's module, with forRoot() and forRootAsync(). */
export function buildModule<Options, FactoryMethod extends string>(
  factoryMethod: FactoryMethod,
  ownOf: (name: string | undefined) => OwnParts,
) {
  const base = moduleBase<Options, FactoryMethod>(SNOWFLAKE_OPTIONS, factoryMethod);
  return base
    .setExtras<SnowflakeModuleExtras>({ isGlobal: true, name: undefined }, (definition, extras) => {
      const { providers, parts = {} } = ownOf(extras.name);
      const { name } = extras;
      const tokens = { idMaker: getIdMakerToken(name), ...parts };
      const keys = ['engine', ...Object.keys(tokens)];
      const run = [
        provide(tokens.idMaker, (engine: Engine) => engine.idMaker, [ENGINE]),
        provide(
          SNOWFLAKE_RUN_PARTS,
          (...given) => ({ name, ...Object.fromEntries(keys.map((key, at) => [key, given[at]])) }),
          [ENGINE, ...Object.values(tokens)],
        ),
        provide(
          SNOWFLAKE_LIFECYCLE,
          (given: RunParts, discovery: DiscoveryService, modules?: ModulesContainer) =>
            new SnowflakeLifecycle(given, discovery, modules),
          [SNOWFLAKE_RUN_PARTS, DiscoveryService, MODULES],
        ),
      ];
      return completed(definition, extras, [...providers, ...run], Object.values(tokens));
    })
    .build();
}

export function moduleBase<Options, FactoryMethod extends string>(
  optionsInjectionToken: symbol,
  factoryMethod: FactoryMethod,
) {
  return new ConfigurableModuleBuilder<Options>({ optionsInjectionToken })
    .setClassMethodName('forRoot')
    .setFactoryMethodName(factoryMethod);
}

/** Completes the definition of a module that finds decorated methods; it is global by default. */
export function completed(
  definition: DynamicModule,
  { isGlobal = true }: { readonly isGlobal?: boolean | undefined },
  providers: readonly Provider[],
  exported: InjectionToken[],
): DynamicModule {
  return {
    ...definition,
    global: isGlobal,
    imports: [...(definition.imports ?? []), DiscoveryModule],
    providers: [...(definition.providers ?? []), ...providers],
    exports: exported,
  };
}

/** With the same token for two generators, the injected one would be arbitrary. */
export function twiceFaults(
  modules: ModulesContainer | undefined,
  name: string | undefined,
): string[] {
  const count = providing(modules, getIdMakerToken(name)).length;
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
