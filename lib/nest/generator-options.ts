/** The options that all generators share, with or without a worker ID. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Clock } from '../core/clock.js';
import { GENERATOR } from '../core/generator/snowflake-generator.js';
import { LEASE } from '../lease/lease-options.js';
import { methods, TIMER_METHODS, typed, type OptionTable } from '../options.js';
import { systemTimers, type Timers } from '../time/timers.js';

/** The options that all generators have. */
export interface GeneratorOptions {
  /** Starts without IDs and requests them in the background. Default false. */
  readonly lazy?: boolean | undefined;
  /** The time limit of one call to the store. Default 2 s. */
  readonly callTimeoutMs?: number | undefined;
  /** The time limit of the start for the first IDs. Default 30 s. */
  readonly startTimeoutMs?: number | undefined;
  /** Operators see this name next to host and pid. Default: the name in package.json. */
  readonly application?: string | undefined;
  /** Reads the time; for tests. */
  readonly clock?: Clock | undefined;
  /** Sets timers; for tests. */
  readonly timers?: Timers | undefined;
}

export const GENERATOR_OPTIONS = {
  lazy: [typed('boolean'), false],
  callTimeoutMs: LEASE.callTimeoutMs,
  startTimeoutMs: LEASE.startTimeoutMs,
  application: [typed('string'), undefined],
  clock: GENERATOR.clock,
  timers: [methods(...TIMER_METHODS), systemTimers],
} satisfies OptionTable<GeneratorOptions>;

/*
 * The default of the option `application`: the name of the running package.
 *
 * npm passes it in the environment. Under a plain `node dist/main`, it comes from the package.json
 * nearest to the entry point. PM2 runs its own entry point in the environment of its daemon, and
 * passes the path of the application. Without a name it is `unnamed`. This function never throws.
 */

/** @param entryPoint process.argv[1]; absent in a REPL and under `node --eval` */
export function applicationName(
  env: Readonly<Record<string, string | undefined>> = process.env,
  entryPoint: string | undefined = process.argv[1],
): string {
  const { npm_package_name: fromNpm, pm_exec_path: fromPm2 } = env;
  const nearest = nameNear(entryPoint);
  const isUnderPm2 = nearest === 'pm2' && fromPm2 !== undefined;
  return (isUnderPm2 ? nameNear(fromPm2) : fromNpm || nearest) ?? 'unnamed';
}

function nameNear(path: string | undefined): string | undefined {
  for (let at = path; at && dirname(at) !== at; at = dirname(at)) {
    const name = nameIn(join(dirname(at), 'package.json'));
    if (name !== undefined) return name;
  }
  return undefined;
}

/** A build may put a package.json without a name next to its output: then the parent counts. */
function nameIn(path: string): string | undefined {
  try {
    const { name } = JSON.parse(readFileSync(path, 'utf8')) as { name?: unknown };
    return typeof name === 'string' && name !== '' ? name : undefined;
  } catch {
    return undefined;
  }
}
