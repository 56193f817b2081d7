/**
 * The injection tokens of our providers; each named generator has its own set.
 *
 * Symbols come from the global registry, so two copies of the package share them.
 */
import { Inject, type InjectionToken } from '@nestjs/common';
import { IDistributedSupport } from '../lease/distributed-support.js';
import { IdMaker } from './id-maker.js';
import { RefreshAlive } from './refresh-alive.job.js';

/** The options as given to forRoot or forRootAsync. */
export const SNOWFLAKE_OPTIONS = Symbol.for('nestjs-snowflake:options');
/** The same options, checked and completed. */
export const SNOWFLAKE_CONFIG = Symbol.for('nestjs-snowflake:config');
/** The parts of a generator for its lifecycle: RunParts. */
export const SNOWFLAKE_RUN_PARTS = Symbol.for('nestjs-snowflake:run-parts');
/** Starts and stops a generator with its application. */
export const SNOWFLAKE_LIFECYCLE = Symbol.for('nestjs-snowflake:lifecycle');
/** Starts and stops the locks of LockModule with their application. */
export const LOCK_LIFECYCLE = Symbol.for('nestjs-snowflake:lock-lifecycle');

function named(stem: string, name: string): InjectionToken {
  return Symbol.for(`nestjs-snowflake:${stem}:${name}`);
}

/** The token of an IdMaker: the class itself, or a symbol for a named one. */
export function getIdMakerToken(name?: string): InjectionToken {
  return name === undefined ? IdMaker : named('IdMaker', name);
}

/** The token of a generator's support, for overrideProvider. */
export function getDistributedSupportToken(name?: string): InjectionToken {
  return name === undefined ? IDistributedSupport : named('IDistributedSupport', name);
}

/** The token of a generator's RefreshAlive job: the class itself, or a symbol. */
export function getRefreshAliveToken(name?: string): InjectionToken {
  return name === undefined ? RefreshAlive : named('RefreshAlive', name);
}

/*
 * Injection of named generators. The unnamed generator is injected by its class, IdMaker. With only
 * one generator, no parameter needs this decorator.
 */

/**
 * Injects the generator registered by `SnowflakeModule.forRoot({ name })`.
 *
 * @example
 * ```ts
 * import { IdMaker, InjectIdMaker } from 'nestjs-snowflake';
 *
 * export class Invoices {
 *   constructor(@InjectIdMaker('orders') private readonly ids: IdMaker) {}
 * }
 * ```
 */
export function InjectIdMaker(name?: string): PropertyDecorator & ParameterDecorator {
  return Inject(getIdMakerToken(name));
}
