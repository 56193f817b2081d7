/**
 * `@Locked()` runs a method of a provider or a controller under a lock.
 *
 * Guarantee: it works above or below any other decorator of the method, with the locks of the
 * application that created the object, in any scope. No stream outlives the lock of its method.
 */
import { Inject } from '@nestjs/common';
import { SnowflakeError } from '../../errors.js';
import { DistributedLock } from '../../lock/distributed-lock.js';
import { HOLD, mostFaults, type HoldOptions } from '../../lock/lock-options.js';
import { choice, nameFaults, readOptions, type OptionTable } from '../../options.js';
import { format } from '../../messages.js';

/** Options of `@Locked()`. */
export interface LockedOptions extends Omit<HoldOptions, 'signal'> {
  /**
   * If another caller holds the lock: 'throw' LOCK_HELD, the default, or 'skip', so the method does
   * not run and the result is undefined.
   */
  readonly onHeld?: 'throw' | 'skip' | undefined;
}

/** The name of a lock, or a function of the method's arguments that returns the name. */
export type LockKey<A extends unknown[]> = string | ((...args: A) => string);

/** Fits a method that takes at least the arguments of the key, and returns a promise. */
export type LockedDecorator<A extends unknown[]> = <
  M extends (...args: never[]) => Promise<unknown>,
>(
  target: object,
  name: string | symbol,
  descriptor: Parameters<M> extends [...A, ...unknown[]] ? TypedPropertyDescriptor<M> : never,
) => void;

type Method = (this: object, ...args: unknown[]) => unknown;

/** Nest injects the locks here, into each object with such a method. */
const LOCKS = Symbol.for('nestjs-snowflake:locks');
/** The metadata key of the options of such a method. */
export const LOCKED = Symbol.for('nestjs-snowflake:locked');
/**
 * Matches a key with a part that was not a string, or an empty first or last part: all callers
 * without a value would share one lock. An IPv6 address may begin and end with two colons.
 */
const NOTHING = /(^|[^\p{L}\p{N}_])(undefined|null|NaN)($|[^\p{L}\p{N}_])|^:(?!:)|(?<!:):$/u;

const { signal: _, ...OF_HOLD } = HOLD;
export const LOCKED_OPTIONS = {
  ...OF_HOLD,
  onHeld: [choice('throw', 'skip'), 'throw'],
} satisfies OptionTable<LockedOptions>;

/** The metadata of a method, for a check at the start. */
export interface LockedMark {
  readonly key: unknown;
  readonly options: LockedOptions;
}

/**
 * Runs the method under a lock of LockModule.
 *
 * @param key the name of the lock: a string, or a function of the method's arguments; build it
 *   with `lockKey` if these may be any string
 * @throws SnowflakeError as DistributedLock.using; ARGUMENT_INVALID for a key such as
 *   `order:undefined`; CONFIG_INVALID if the method returns a stream or an Observable
 * @example
 * ```ts
 * import { Locked } from 'nestjs-snowflake/lock';
 *
 * const keyOf = (orderId: string) => `order:${orderId}`;
 * export class Orders {@Locked(keyOf, { waitMs: 2000 }) async pay(orderId: string) {}}
 *
 * const night = { onHeld: 'skip', holdAtLeastMs: 60_000 } as const;
 * export class Reports {@Locked('job:report', night) async send() {}}
 * ```
 */
export function Locked<A extends unknown[] = []>(
  key: LockKey<A>,
  options: LockedOptions = {},
): LockedDecorator<A> {
  return (target, name, descriptor) => {
    Inject(DistributedLock)(target, LOCKS);
    const given = descriptor as unknown as TypedPropertyDescriptor<Method>;
    const method = given.value!;
    const { onHeld = 'throw', ...hold } = options;
    const locked: Method = async function (...args) {
      const locks = (this as { [LOCKS]?: DistributedLock } | undefined)?.[LOCKS];
      if (locks === undefined) throw withoutLocks(name);
      const lock = checkedKey(typeof key === 'function' ? key(...(args as A)) : key, name);
      const run = async () => withoutStream(await method.apply(this, args), name);
      return onHeld === 'skip' ? locks.usingOrSkip(lock, hold, run) : locks.using(lock, hold, run);
    };
    // Other decorators have left their metadata at the method that this one replaces.
    for (const other of Reflect.getMetadataKeys(method) as unknown[]) {
      Reflect.defineMetadata(other, Reflect.getMetadata(other, method), locked);
    }
    given.value = Object.defineProperties(locked, Object.getOwnPropertyDescriptors(method));
    Reflect.defineMetadata(LOCKED, { key, options } satisfies LockedMark, locked);
  };
}

function checkedKey(key: unknown, name: string | symbol): string {
  const [fault] = keyFaults(key);
  if (fault === undefined) return key as string;
  throw new SnowflakeError(
    'ARGUMENT_INVALID',
    `The key of @Locked on ${String(name)} cannot be used. ${fault} Nothing was done. Check the ` +
      'arguments, or make it by lockKey, which checks its parts and takes any text.',
  );
}

function keyFaults(key: unknown): string[] {
  const faults = nameFaults('key', key);
  if (faults.length > 0 || !NOTHING.test(key as string)) return faults;
  const missing = 'everybody without the one that is missing would wait for each other';
  return [`Expected \`key\` to have all its parts, got ${format(key)}: ${missing}.`];
}

/** The work of a stream would begin, or continue, after the lock is released. */
function withoutStream(value: unknown, name: string | symbol): unknown {
  const object = Object(value) as Readonly<Record<string | symbol, unknown>>;
  const members = [Symbol.asyncIterator, 'subscribe', 'next', 'getStream'];
  if (members.every((member) => typeof object[member] !== 'function')) return value;
  throw new SnowflakeError(
    'CONFIG_INVALID',
    `${String(name)} is @Locked and returned a stream, which would continue after its lock is ` +
      'released. It was not handed on. Return what the stream brings, or read it in a section ' +
      'of `DistributedLock.using`.',
  );
}

function withoutLocks(name: string | symbol): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `${String(name)} is @Locked, but Nest did not create its object, so the object has no locks. ` +
      'The method did not run. Inject the object, or use a DistributedLock directly.',
  );
}

/** @returns all faults of the decorator, for one message */
export function lockedFaults({ key, options }: LockedMark, where: string): string[] {
  const { terms, faults } = readOptions(options, LOCKED_OPTIONS, '@Locked');
  if (faults.length === 0) faults.push(...mostFaults(terms.holdAtLeastMs, terms.holdAtMostMs));
  if (typeof key !== 'function') faults.push(...keyFaults(key));
  return faults.map((fault) => `@Locked on ${where}: ${fault}`);
}
