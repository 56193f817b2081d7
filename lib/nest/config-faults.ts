/**
 * Faults of the configuration: collected one by one, thrown all at once.
 *
 * Promise: one CONFIG_INVALID lists every fault, also in `details.faults`.
 */
import { SnowflakeError, isSnowflakeError } from '../errors.js';

/** Runs a step; its faults are noted and the stand-in is used, so that the rest is checked too. */
export function collect<T>(faults: string[], standIn: T, step: () => T): T {
  try {
    return step();
  } catch (error) {
    faults.push(...faultsOf(error));
    return standIn;
  }
}

export function faultsOf(error: unknown): string[] {
  if (!isSnowflakeError(error)) throw error;
  return (error.details['faults'] as string[] | undefined) ?? [error.message];
}

export const SCHEDULER_FAULT =
  'ScheduleModule is not imported, and RefreshAlive runs as one of its jobs. Add ' +
  '`ScheduleModule.forRoot()` from @nestjs/schedule to the imports of your root module.';

/** Also for a factory that forgot to return. The value is not shown: it may be a URL. */
export function noOptions(options: unknown): string {
  const kind = options === null ? 'null' : typeof options;
  return (
    `Expected the options to be an object, got ${kind}. Give at least ` +
    "`{ support: 'redis://host:6379?namespace=shop' }`, or return it from the factory."
  );
}

export function invalid(faults: readonly string[]): SnowflakeError {
  const list = faults.length === 1 ? faults[0]! : `\n  - ${faults.join('\n  - ')}`;
  return new SnowflakeError('CONFIG_INVALID', `Snowflake cannot start. ${list}`, {
    details: { faults },
  });
}
