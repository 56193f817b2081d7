/**
 * Step two of resolveOptions(): opens the support from the options `support` and `workerId`. No
 * message contains an invalid value, because URLs, clients and options hold passwords.
 */
import { isSharedLease } from '../core/window/shared-lease.js';
import { isSnowflakeError, SnowflakeError } from '../errors.js';
import {
  ClaimSupport,
  isClaim,
  StaticSupport,
  type WorkerIdSource,
} from '../lease/static.support.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { LEASE_DEFAULTS } from '../lease/lease-options.js';
import { SharedLeaseSupport } from '../lease/shared.support.js';
import { errorText, plainCause, format, withoutSecrets } from '../messages.js';
import {
  storeOfScheme,
  isSupport,
  supportOf,
  type OwnSupports,
  type SupportFromUrl,
} from '../stores/schemes.js';
import { systemTimers, withinLimit, type Timers } from '../time/timers.js';

/** The options that determine the support. */
interface Given {
  readonly support?: unknown;
  readonly regions?: unknown;
  readonly supports?: unknown;
  readonly workerId?: WorkerIdSource;
  readonly timers?: Timers;
  readonly startTimeoutMs?: number;
}

const NOTHING_GIVEN =
  'Neither `support` nor `workerId` is given, and no worker id is a safe default. Give ' +
  "`support: 'redis://host:6379?namespace=shop'`, or `workerId: 7` with a different " +
  'number in each process.';
/** The usual cause is an environment variable; `nest add` and the documentation use this one. */
const UNDEFINED_GIVEN =
  ' `support` is there, but undefined: is the environment variable that it comes from not set? ' +
  '`nest add` has written SNOWFLAKE_SUPPORT into .env, which tests and production do not read.';

/** Each is undefined if it is not given, or is invalid. */
export interface OpenSupports {
  readonly support: IDistributedSupport | undefined;
  readonly regions: IDistributedSupport | undefined;
}

/** @param faults receives the errors */
export async function openSupports(given: Given, faults: string[]): Promise<OpenSupports> {
  const own = ownSupports(given.supports, faults);
  const support = await made(() => givenSupport(given, own), faults);
  if (given.regions === undefined) return { support, regions: undefined };
  return { support, regions: await made(() => toSupport(given.regions, own, 'regions'), faults) };
}

async function givenSupport(given: Given, own: OwnSupports): Promise<IDistributedSupport> {
  const { support, workerId } = given;
  if (workerId === undefined) {
    if (support === undefined) {
      const more = Object.hasOwn(given, 'support') ? UNDEFINED_GIVEN : '';
      throw new SnowflakeError('CONFIG_INVALID', NOTHING_GIVEN + more);
    }
    if (!isClaim(support) || isSupport(support)) return toSupport(support, own);
    return claimed(support.workerId, support.of, { given, own });
  }
  if (support !== undefined) return claimed(workerId, support, { given, own });
  return new StaticSupport(await numberOf(workerId, given));
}

/** Resolves both parts, so the errors of both are reported. */
async function claimed(
  workerId: WorkerIdSource,
  of: unknown,
  { given, own }: { readonly given: Given; readonly own: OwnSupports },
): Promise<IDistributedSupport> {
  const faults: string[] = [];
  const registryFaults: string[] = [];
  const [number, registry] = await Promise.all([
    made(() => numberOf(workerId, given), faults),
    made(() => toSupport(of, own), registryFaults),
  ]);
  faults.push(...registryFaults);
  const hasBoth = faults.length === 0;
  const claim = hasBoth && (await made(() => new ClaimSupport(number!, registry!), faults));
  if (claim) return claim;
  await closeQuietly(registry);
  throw invalid(faults);
}

/** A support from the application's own scheme may be open. An error on closing would hide ours. */
export async function closeQuietly(
  opened: Pick<IDistributedSupport, 'close'> | undefined,
): Promise<void> {
  try {
    await opened?.close?.();
  } catch {
    // The first failure is reported.
  }
}

async function toSupport(
  support: unknown,
  own: OwnSupports,
  name = 'support',
): Promise<IDistributedSupport> {
  if (isSupport(support)) return support;
  if (isSharedLease(support)) return new SharedLeaseSupport(support);
  if (typeof support === 'string') return supportOf(support, own);
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`${name}\` to be a URL or an object with getNextWorkId and refreshAlive, got ` +
      `${kindOf(support)}.`,
  );
}

/** Calls the function once. A service may take a while, but a start does not wait forever. */
async function numberOf(source: WorkerIdSource, given: Given): Promise<number> {
  // The constructor checks the number.
  if (typeof source !== 'function') return new StaticSupport(source).workerId;
  const { timers = systemTimers, startTimeoutMs } = given;
  const ms = Number(startTimeoutMs) > 0 ? Number(startTimeoutMs) : LEASE_DEFAULTS.startTimeoutMs;
  const over = (): never => {
    throw new SnowflakeError(
      'CONFIG_INVALID',
      `The function \`workerId\` gave no number within ${ms} ms, so the start ended.`,
    );
  };
  try {
    return await withinLimit(Promise.resolve(source()), { ms, timers, over });
  } catch (error) {
    if (isSnowflakeError(error)) throw error;
    const said = withoutSecrets(errorText(error));
    const text =
      'The function `workerId` failed. Check what it asks; it must give a number. It said: ';
    throw new SnowflakeError('CONFIG_INVALID', text + said, {
      cause: plainCause(error),
    });
  }
}

/** Describes a value without its content: it may be a client or its options. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return `a value of type ${typeof value}`;
  if (value instanceof URL) return 'a URL object; give its text, url.href';
  if (typeof (value as { duplicate?: unknown }).duplicate === 'function') {
    return 'a client; write redisSupport({ redis: client }), from nestjs-snowflake/redis';
  }
  return Array.isArray(value) ? 'an array' : 'an object without them';
}

/*
 * Reads the option `supports`: URL schemes of the application, each with a function that turns a
 * URL into a support. It replaces no scheme of this package.
 */

/** A scheme by RFC 3986, in lower case. */
const SCHEME = /^[a-z][a-z0-9+.-]*$/;

/** @param faults receives an error for each unusable entry */
export function ownSupports(given: unknown, faults: string[]): OwnSupports {
  if (given === undefined) return new Map();
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    faults.push(
      `Expected \`supports\` to be an object of functions by URL scheme, got ${format(given)}.`,
    );
    return new Map();
  }
  const entries = Object.entries(given as Record<string, unknown>);
  const found = entries.map(([scheme, make]) => faultOf(scheme, make));
  faults.push(...found.filter((fault) => fault !== undefined));
  return new Map(entries.filter((_, at) => found[at] === undefined) as [string, SupportFromUrl][]);
}

function faultOf(scheme: string, make: unknown): string | undefined {
  if (!SCHEME.test(scheme)) {
    return (
      `Expected each name in \`supports\` to be a URL scheme without its colon (lower-case ` +
      `letters, digits, +, - and ., a letter first), got ${format(scheme)}.`
    );
  }
  if (storeOfScheme(scheme) !== undefined) {
    return `The scheme \`${scheme}\` in \`supports\` belongs to this package; choose another name.`;
  }
  if (typeof make === 'function') return undefined;
  return `Expected \`supports.${scheme}\` to be a function of a URL, got ${typeof make}.`;
}

/*
 * Configuration errors: collected one by one, and thrown together as one CONFIG_INVALID, which also
 * lists them in `details.faults`.
 */

/** @returns undefined for an invalid part, whose faults are then reported */
export async function made<T>(
  make: () => T | Promise<T>,
  faults: string[],
): Promise<T | undefined> {
  try {
    return await make();
  } catch (error) {
    faults.push(...faultsOf(error));
    return undefined;
  }
}

/** The list of faults in an error of this package. */
export function faultsOf(error: unknown): string[] {
  if (!isSnowflakeError(error)) throw error;
  return (error.details['faults'] as string[] | undefined) ?? [error.message];
}

export const SCHEDULER_FAULT =
  'ScheduleModule is not imported, and RefreshAlive runs as one of its jobs. Add ' +
  '`ScheduleModule.forRoot()` from @nestjs/schedule to the imports of your root module.';

/** A factory without a `return` also causes this. The value may be a URL, so it is not shown. */
export function noOptions(options: unknown, example: string): string {
  const kind = options === null ? 'null' : typeof options;
  return (
    `Expected the options to be an object, got ${kind}. Give at least \`{ ${example} }\`, or ` +
    'return it from the factory.'
  );
}

export function invalid(faults: readonly string[]): SnowflakeError {
  const list = faults.length === 1 ? faults[0]! : `\n  - ${faults.join('\n  - ')}`;
  return new SnowflakeError('CONFIG_INVALID', `Snowflake cannot start. ${list}`, {
    details: { faults },
  });
}
