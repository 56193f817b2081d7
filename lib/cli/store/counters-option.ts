/**
 * From --support to a store of counters.
 *
 * Promise: what was opened is closed, whatever happens in between, and no call lasts longer than
 * --timeout says.
 */
import { countersOf } from '../../backends/schemes.js';
import type { CounterStore } from '../../counters/counter-store.js';
import { SnowflakeError } from '../../errors.js';
import { systemTimers } from '../../patience/timers.js';
import { withinLimit } from '../../patience/within-limit.js';
import type { Call } from '../command.js';
import type { ExitCode } from '../surroundings.js';
import { namedStore } from './support-option.js';

export interface NamedCounters {
  readonly store: CounterStore;
  readonly place: string;
  readonly limited: <T>(asked: Promise<T>) => Promise<T>;
}

export async function withCounters(
  call: Call,
  use: (counters: NamedCounters) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { url, timeoutMs: ms } = namedStore(call);
  const store = await countersOf(url);
  const { place = 'the store' } = store;
  const over = (): never => {
    throw new SnowflakeError(
      'STORE_UNAVAILABLE',
      `${place} did not answer within ${ms} ms. Check that it is up and reachable from this ` +
        `host, or allow more by --timeout.`,
    );
  };
  const limited = <T>(asked: Promise<T>) => withinLimit(asked, { timers: systemTimers, ms, over });
  try {
    return await use({ store, place, limited });
  } finally {
    await store.close?.();
  }
}
