/**
 * Opens the store of worker IDs, counters or locks that --support names.
 *
 * Guarantee: an opened store is always closed, and no call lasts longer than --timeout.
 */
import type { CounterStore } from '../../counters/counter-store.js';
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { TTL_MS_MAX, type LockStore } from '../../lock/lock-store.js';
import { whole } from '../../options.js';
import type { RegistryInspector, StorePreparation } from '../../registry/snapshot.js';
import {
  countersOf,
  inspectorOf,
  isMemory,
  lockPreparationOf,
  locksOf,
} from '../../stores/schemes.js';
import { systemClock } from '../../core/clock.js';
import { systemIdentity } from '../../time/process-identity.js';
import { systemTimers, withinLimit } from '../../time/timers.js';
import { kindOf } from '../../url-schemes.js';
import { usageFault, type Call, type OptionSpecs } from '../command.js';

export const TIMEOUT_OPTION: OptionSpecs = {
  timeout: { value: 'duration', says: 'how long the store may take to respond; default 5s' },
};

export const SUPPORT_OPTIONS: OptionSpecs = {
  support: {
    value: 'url',
    says: 'as in the application, e.g. redis://host:6379?namespace=shop; or SNOWFLAKE_SUPPORT',
  },
  ...TIMEOUT_OPTION,
};

export const REGIONS_OPTION: OptionSpecs = {
  regions: {
    value: 'url',
    says: 'the registry of regions, as in the application; or SNOWFLAKE_REGIONS',
  },
};

const TIMEOUT_MS = 5000;
const TIMEOUT_MS_MAX = 600_000;

/**
 * Runs with the store that --support, or another option, names.
 * @throws SnowflakeError CONFIG_INVALID
 */
export async function withStore<T>(
  call: Call,
  use: (store: RegistryInspector) => Promise<T>,
  option?: StoreOption,
): Promise<T> {
  const { url, timeoutMs } = namedStore(call, option);
  if (kindOf(url) === 'static') {
    throw usageFault(
      'A static worker id has no store: nothing is leased, and nobody knows who uses which number.',
    );
  }
  const store = limitedInspector(await inspectorOf(url), timeoutMs);
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Undefined if the table of the store is missing. */
export async function unlessTableIsMissing<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    // A missing SQLite file also lacks the table.
    const isMissing =
      isSnowflakeError(error) && /^no-(table|file)$/.test(String(error.details['refusal']));
    if (isMissing) return undefined;
    throw error;
  }
}

const EXAMPLES = {
  support: 'redis://host:6379?namespace=shop',
  regions: 'etcd://host:2379?namespace=shop-regions',
  against: 'redis://other:6379?namespace=shop',
  from: 'redis://host:6379?namespace=shop',
  to: 'postgres://host/shop?namespace=shop',
  url: 'postgres://host/shop',
} as const;

type StoreOption = keyof typeof EXAMPLES;

const variableOf = (option: StoreOption): string => `SNOWFLAKE_${option.toUpperCase()}`;

/** The environment keeps a password out of the list of processes. */
function urlOf({ options, env }: Call, option: StoreOption): string | undefined {
  return options.text(option) ?? env[variableOf(option)];
}

/** True if an optional option names a store. */
export function isStoreNamed(call: Call, option: StoreOption): boolean {
  return (urlOf(call, option) ?? '') !== '';
}

/** Reads the URL of a store, and --timeout. @throws SnowflakeError CONFIG_INVALID */
function namedStore(call: Call, option: StoreOption = 'support') {
  const timeoutMs = call.options.duration('timeout', whole(1, TIMEOUT_MS_MAX)) ?? TIMEOUT_MS;
  return { url: storeUrl(call, option), timeoutMs };
}

/** The URL that an option must name. @throws SnowflakeError CONFIG_INVALID */
export function storeUrl(call: Call, option: StoreOption): string {
  const url = urlOf(call, option);
  if (url === undefined || url === '') {
    throw usageFault(
      `Which store? Give --${option} ${EXAMPLES[option]}, or set ${variableOf(option)}.`,
    );
  }
  return url;
}

export interface NamedCounters {
  readonly store: CounterStore;
  readonly location: string;
  readonly limited: Limited;
}

export async function withCounters<T>(
  call: Call,
  use: (counters: NamedCounters) => Promise<T>,
): Promise<T> {
  const { url, timeoutMs: ms } = namedStore(call);
  const store = await countersOf(url);
  const { location = 'the store' } = store;
  try {
    return await use({ store, location, limited: limitedCalls(location, ms) });
  } finally {
    await store.close?.();
  }
}

export type NamedLocks = ReturnType<typeof limitedLocks>;

/** Runs with the store that --support names. @throws SnowflakeError CONFIG_INVALID */
export async function withLocks<T>(call: Call, use: (locks: NamedLocks) => Promise<T>): Promise<T> {
  const { url, timeoutMs: ms } = namedStore(call);
  if (isMemory(url)) {
    throw usageFault('Locks in the memory of a process cannot be seen by another one.');
  }
  const store = await locksOf(url);
  try {
    return await use(limitedLocks(store, { ms, preparation: await lockPreparationOf(url) }));
  } finally {
    await store.close?.();
  }
}

function limitedLocks(
  store: LockStore,
  { ms, preparation }: { ms: number; preparation: StorePreparation | undefined },
) {
  const { location = 'the store' } = store;
  const limited = limitedCalls(location, ms);
  const operator = () => {
    return { lock: 'snowflake', holder: systemIdentity('snowflake').randomText(), token: 0n };
  };
  return {
    location,
    /** How far the clock of locks is ahead of the store's; 0 without locks, or without a clock. */
    aheadMs: async () => {
      const clocks = { wallMs: systemClock.now() };
      const { nowMs = 0, timeMs = nowMs } = await limited(
        store.extend({ ...operator(), ttlMs: 1, clocks }),
      );
      return nowMs - timeMs;
    },
    /** Sets the clock of locks back by this much. */
    settle: async (aheadMs: number) => {
      await limited(store.extend({ ...operator(), ttlMs: 1, settles: true }));
      // Locks granted while the clock was ahead would last until then.
      for (const { lock, token, leftMs } of await limited(store.locks?.() ?? Promise.resolve([]))) {
        const ttlMs = Math.min(Math.max(1, leftMs - aheadMs), TTL_MS_MAX);
        await limited(store.extend({ ...operator(), lock, token, ttlMs, settles: true }));
      }
    },
    /** Sorted by name. */
    records: async () => {
      if (store.locks === undefined) throw usageFault(`${location} cannot list its locks.`);
      return limited(store.locks());
    },
    notes: async () => {
      if (store.notes === undefined) throw usageFault(`${location} cannot list its notes.`);
      return limited(store.notes());
    },
    advice: async () => (await limited(store.advice?.() ?? Promise.resolve([]))) ?? [],
    /** Requests a first lock. @returns the ms until the store grants one */
    begin: async (ttlMs: number) => {
      const { token: have, ...who } = operator();
      const request = { ...who, label: 'snowflake', ttlMs, longestMs: ttlMs, have };
      const answer = await limited(store.acquire(request));
      if (answer.status === 'wait') return answer.waitMs;
      await limited(store.release(who));
      return 0;
    },
    /** What a store needs before it can keep locks; undefined if it needs nothing. */
    preparation: preparation && limitedPreparation(preparation, limited),
  };
}

/*
 * Calls within the limit of --timeout. An error names the silent store and the next step.
 */

type Limited = <T>(call: Promise<T>) => Promise<T>;

/** @param lastFault the last error of the store, for the message */
function limitedCalls(where: string, ms: number, lastFault?: () => Error | undefined): Limited {
  const over = (): never => {
    const fault = lastFault?.()?.message.replace(/\.$/, '');
    const last = fault === undefined ? '' : `; the last error was: ${fault}`;
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `${where} did not answer within ${ms} ms${last}. Check that it is up and reachable from ` +
        `this host, or raise --timeout.`,
    );
  };
  return (call) => withinLimit(call, { timers: systemTimers, ms, over });
}

function limitedPreparation(preparation: StorePreparation, limited: Limited): StorePreparation {
  return { text: preparation.text, run: () => limited(preparation.run()) };
}

/** An inspector within that limit; closing has no limit. */
function limitedInspector(inspector: RegistryInspector, ms: number): RegistryInspector {
  const { where, key, lossWindowMs, preparation } = inspector;
  const limited = limitedCalls(`The store at ${where}`, ms, () => inspector.lastFault?.());
  return {
    where,
    key,
    lossWindowMs,
    ...(preparation && { preparation: limitedPreparation(preparation, limited) }),
    read: (countMax) => limited(inspector.read(countMax)),
    findings: () => limited(inspector.findings()),
    release: (lease, lastIssuedMs) => limited(inspector.release(lease, lastIssuedMs)),
    close: () => inspector.close(),
  };
}
