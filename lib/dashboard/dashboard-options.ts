/**
 * The options of the dashboard, checked; all faults are reported at once.
 *
 * Promise: without a guard there is no page. Leaving out the guards is a fault, not a default.
 */
import type { CanActivate, ModuleMetadata, Type } from '@nestjs/common';
import { SnowflakeError } from '../errors.js';
import { unknownNames } from '../option-faults.js';
import { shown } from '../shown.js';

/** A class, whose dependencies Nest injects, or an instance. */
export type DashboardGuard = Type<CanActivate> | CanActivate;

/** Options of SnowflakeDashboardModule. */
export interface SnowflakeDashboardOptions {
  /**
   * Who may see the page: every request must pass all of these. `'global'` leaves that to the
   * application's guards for all routes, of which there must be at least one.
   */
  readonly guards: readonly DashboardGuard[] | 'global';
  /** Where the page is served, after the application's global prefix. Default `'snowflake'`. */
  readonly path?: string | undefined;
  /** Modules that export what the guards inject. Global modules need not be listed. */
  readonly imports?: ModuleMetadata['imports'] | undefined;
}

export interface DashboardConfig {
  readonly guards: readonly DashboardGuard[] | 'global';
  readonly path: string;
}

/** The token of the options; not provided when the module is imported without forRoot(). */
export const DASHBOARD_CONFIG = Symbol.for('nestjs-snowflake:dashboard');

const PATH_DEFAULT = 'snowflake';
/** Plain segments: a pattern would serve the page under other paths, too, a dot under none. */
const PATH = /^\/?(?!\.{1,2}(\/|$))[\w.~-]+(\/(?!\.{1,2}(\/|$))[\w.~-]+)*\/?$/;

/** @throws SnowflakeError CONFIG_INVALID with every fault in `details.faults`. */
export function resolveDashboardOptions(options: SnowflakeDashboardOptions): DashboardConfig {
  if (typeof options !== 'object' || options === null) {
    throw invalidDashboard([`Expected the options to be an object, got ${shown(options)}.`]);
  }
  const { guards, path = PATH_DEFAULT } = options;
  const faults = unknownNames(options, 'guards, path, imports', 'SnowflakeDashboardModule');
  const fault = guardsFault(guards);
  if (fault !== undefined) faults.push(fault);
  if (typeof path !== 'string' || !PATH.test(path)) {
    faults.push(`Expected \`path\` to be plain, such as 'admin/snowflake', got ${shown(path)}.`);
  }
  if (faults.length > 0) throw invalidDashboard(faults);
  return { guards, path };
}

function guardsFault(guards: unknown): string | undefined {
  if (guards === 'global') return undefined;
  if (guards === undefined || (Array.isArray(guards) && guards.length === 0)) {
    return (
      'No `guards` are given, and the page must never be public: it names hosts and processes. ' +
      'Give guards that admit operators only, `guards: [OperatorGuard]`, or use ' +
      "`guards: 'global'` if the guards of the whole application do so."
    );
  }
  if (!Array.isArray(guards)) {
    return `Expected \`guards\` to be a list of guards or 'global', got ${shown(guards)}.`;
  }
  const others = guards.filter((guard) => !isGuard(guard)).map(shown);
  if (others.length === 0) return undefined;
  const wanted = 'Expected each of `guards` to be a class or have canActivate()';
  return `${wanted}, got ${others.join(', ')}.`;
}

/** Any class is accepted, since canActivate may be a field of its instances. */
function isGuard(guard: unknown): boolean {
  if (typeof guard === 'function') return guard.prototype !== undefined;
  return typeof (guard as CanActivate | null | undefined)?.canActivate === 'function';
}

export function invalidDashboard(faults: readonly string[]): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `SnowflakeDashboardModule cannot start. ${faults.join(' ')}`,
    { details: { faults } },
  );
}
