/**
 * What is done with all stores of one counter at once.
 *
 * Promise: what one of them refuses to close is lost and holds up none of the others.
 */
import type { CounterStore } from '../counter-store.js';

/** Where the counter lies, each place once. */
export function placesOf(stores: readonly { readonly place: string }[]): string {
  return [...new Set(stores.map(({ place }) => place))].join(', ');
}

export async function adviceOf(stores: readonly CounterStore[]): Promise<string[]> {
  const advice = await Promise.all(stores.map(async (store) => store.advice?.()));
  return advice.flatMap((texts) => texts ?? []);
}

export async function closeAll(stores: readonly CounterStore[]): Promise<void> {
  await Promise.allSettled(stores.map(async (store) => store.close?.()));
}
