/**
 * From the options `support` and `workerId` to the support itself. What is given in place of one is
 * never printed: URLs, clients and options hold passwords.
 */
import { isSupport, supportOf, type OwnSupports } from '../backends/schemes.js';
import { isSharedLease } from '../core/seat/shared-lease.js';
import { SnowflakeError, isSnowflakeError } from '../errors.js';
import { errorText, plainCause, withoutSecrets } from '../shown.js';
import { ClaimSupport, isClaim, type WorkerIdSource } from '../lease/claim.support.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { JoinedSupport } from '../lease/joined.support.js';
import { LEASE_DEFAULTS } from '../lease/lease-options.js';
import { StaticSupport } from '../lease/static.support.js';
import { systemTimers, type Timers } from '../patience/timers.js';
import { withinLimit } from '../patience/within-limit.js';
import { faultsOf, invalid } from './config-faults.js';

/** Those of the options that decide it. */
interface Given {
  readonly support?: unknown;
  readonly workerId?: WorkerIdSource;
  readonly timers?: Timers;
  readonly startTimeoutMs?: number;
}

const NOTHING_GIVEN =
  'Neither `support` nor `workerId` is given, and no worker id is a safe default. Give ' +
  "`support: 'redis://host:6379?namespace=shop'`, or `workerId: 7` with a different " +
  'number in each process.';
/** As of a variable of the environment. `nest add` and the documents read this one. */
const UNDEFINED_GIVEN =
  ' `support` is there, but undefined: is the environment variable that it comes from not set? ' +
  '`nest add` has written SNOWFLAKE_SUPPORT into .env, which tests and production do not read.';

/**
 * @param own what the application makes of URLs of its own
 * @throws SnowflakeError CONFIG_INVALID
 */
export async function givenSupport(given: Given, own: OwnSupports): Promise<IDistributedSupport> {
  const { support, workerId } = given;
  if (workerId === undefined) {
    if (support === undefined) throw nothingGiven(given);
    if (!isClaim(support) || isSupport(support)) return toSupport(support, own);
    return claimed(support.workerId, support.of, { given, own });
  }
  if (support !== undefined) return claimed(workerId, support, { given, own });
  return new StaticSupport(await numberOf(workerId, given));
}

function nothingGiven(given: Given): SnowflakeError {
  const more = Object.hasOwn(given, 'support') ? UNDEFINED_GIVEN : '';
  return new SnowflakeError('CONFIG_INVALID', NOTHING_GIVEN + more);
}

/** Both are looked at, so that the faults of both are reported. */
async function claimed(
  workerId: WorkerIdSource,
  of: unknown,
  { given, own }: { readonly given: Given; readonly own: OwnSupports },
): Promise<IDistributedSupport> {
  const [number, registry] = await Promise.allSettled([
    numberOf(workerId, given),
    toSupport(of, own),
  ]);
  const failed = [number, registry].filter(({ status }) => status === 'rejected');
  try {
    if (number.status === 'fulfilled' && registry.status === 'fulfilled') {
      return new ClaimSupport(number.value, registry.value);
    }
    throw invalid(failed.flatMap((result) => faultsOf((result as PromiseRejectedResult).reason)));
  } catch (error) {
    // One of the application's own scheme may be open; an error on closing would hide ours.
    if (registry.status === 'fulfilled') await closed(registry.value);
    throw error;
  }
}

async function closed(support: IDistributedSupport): Promise<void> {
  try {
    await support.close?.();
  } catch {
    // Said before: what failed first is what is reported.
  }
}

async function toSupport(support: unknown, own: OwnSupports): Promise<IDistributedSupport> {
  if (isSupport(support)) return support;
  if (isSharedLease(support)) return new JoinedSupport(support);
  if (typeof support === 'string') return supportOf(support, own);
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `Expected \`support\` to be a URL or an object with getNextWorkId and refreshAlive, got ` +
      `${kindOf(support)}.`,
  );
}

/** Asked once; what a service answers may take a while, and a start does not wait for ever. */
async function numberOf(source: WorkerIdSource, given: Given): Promise<number> {
  // Made of it for its check alone.
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

/** Not the value: it may be a client or its options. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return `a value of type ${typeof value}`;
  if (value instanceof URL) return 'a URL object; give its text, url.href';
  if (typeof (value as { duplicate?: unknown }).duplicate === 'function') {
    return 'a client; write redisSupport({ redis: client }), from nestjs-snowflake/redis';
  }
  return Array.isArray(value) ? 'an array' : 'an object without them';
}
