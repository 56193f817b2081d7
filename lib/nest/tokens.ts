/**
 * Under which tokens Nest knows our providers; each named generator has its own set.
 *
 * Symbols are from the global registry, so that two copies of the package share them.
 */
import type { InjectionToken } from '@nestjs/common';
import { IDistributedSupport } from '../lease/distributed-support.js';
import { IdMaker } from './id-maker.js';
import { RefreshAlive } from './refresh-alive.job.js';

/** What the user gave to forRoot or forRootAsync, as it was given. */
export const SNOWFLAKE_OPTIONS = Symbol.for('nestjs-snowflake:options');
/** The same, checked and completed. */
export const SNOWFLAKE_CONFIG = Symbol.for('nestjs-snowflake:config');
/** What starts and stops a generator with its application. */
export const SNOWFLAKE_LIFECYCLE = Symbol.for('nestjs-snowflake:lifecycle');

function named(stem: string, name: string): InjectionToken {
  return Symbol.for(`nestjs-snowflake:${stem}:${name}`);
}

/** The token of an IdMaker: the class itself, or a symbol for a named one. */
export function getIdMakerToken(name?: string): InjectionToken {
  return name === undefined ? IdMaker : named('IdMaker', name);
}

/** Which generator an IdMaker's token stands for; undefined for any other token. */
export function generatorOf(
  token: InjectionToken,
): { readonly name: string | undefined } | undefined {
  if (token === IdMaker) return { name: undefined };
  const stem = 'nestjs-snowflake:IdMaker:';
  const key = typeof token === 'symbol' ? Symbol.keyFor(token) : undefined;
  return key?.startsWith(stem) ? { name: key.slice(stem.length) } : undefined;
}

/** The token of the support behind a named generator, for overrideProvider. */
export function getDistributedSupportToken(name?: string): InjectionToken {
  return name === undefined ? IDistributedSupport : named('IDistributedSupport', name);
}

/** The token of the job behind a named generator: the class itself, or a symbol. */
export function getRefreshAliveToken(name?: string): InjectionToken {
  return name === undefined ? RefreshAlive : named('RefreshAlive', name);
}
