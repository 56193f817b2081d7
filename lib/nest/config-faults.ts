/**
 * Faults in the configuration: collected one by one, thrown together in one CONFIG_INVALID, which
 * also lists them in `details.faults`.
 */
import { SnowflakeError, isSnowflakeError } from '../errors.js';

/** Runs a step. If it fails, its faults are added and the stand-in lets the other checks run. */
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

/** Also what a factory without a `return` gives. The value is not shown: it may be a URL. */
export function noOptions(options: unknown): string {
  const kind = options === null ? 'null' : typeof options;
  return (
    `Expected the options to be an object, got ${kind}. Give at least \`{ support: ` +
    "'redis://host:6379?namespace=shop' }`, or return it from the factory."
  );
}

export function invalid(faults: readonly string[]): SnowflakeError {
  const list = faults.length === 1 ? faults[0]! : `\n  - ${faults.join('\n  - ')}`;
  return new SnowflakeError('CONFIG_INVALID', `Snowflake cannot start. ${list}`, {
    details: { faults },
  });
}
