/**
 * From --support to a store of counters.
 *
 * Promise: what was opened is closed, whatever happens in between, and no call lasts longer than
 * --timeout says.
 */
import { countersOf } from '../../backends/schemes.js';
import type { CounterStore } from '../../counters/counter-store.js';
import type { Call } from '../command.js';
import type { ExitCode } from '../surroundings.js';
import { limitedCalls, type Limited } from './limited-calls.js';
import { namedStore } from './support-option.js';

export interface NamedCounters {
  readonly store: CounterStore;
  readonly place: string;
  readonly limited: Limited;
}

export async function withCounters(
  call: Call,
  use: (counters: NamedCounters) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { url, timeoutMs: ms } = namedStore(call);
  const store = await countersOf(url);
  const { place = 'the store' } = store;
  try {
    return await use({ store, place, limited: limitedCalls(place, ms) });
  } finally {
    await store.close?.();
  }
}
