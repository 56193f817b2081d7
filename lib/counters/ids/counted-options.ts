/**
 * The options of ids made in a store: what they mean, their defaults, and what is wrong with them.
 *
 * Promise: every fault is found at once; no store, client or text that may be a URL is shown.
 */
import { BitLayout } from '../../core/layout/bit-layout.js';
import { epochText } from '../../core/layout/epoch.js';
import { layouts } from '../../core/layout/presets.js';
import { shown } from '../../shown.js';
import type { CounterStore } from '../counter-store.js';
import { nameFaults, refuse, unknownNames, wholeFaults } from '../../option-faults.js';
import { storeFaults } from '../store-faults.js';
import { perMsOf } from './position-run.js';

export interface PrefetchOptions {
  /** How many ids are taken at a time, 1 to 1,000,000. At most three times as many are in hand. */
  readonly count: number;
  /** No id is given that was taken longer ago, 10 ms to an hour. */
  readonly staleMs: number;
}

/** What ids made in a store are, whichever store it is. */
export interface IdOptions {
  /** Which ids, e.g. `order`: 1 to 128 characters without spaces. Two tags may share ids. */
  readonly tag: string;
  /**
   * The bits of the ids, in units of 1 ms; every field but time and sequence is filled by the call.
   * Default layouts.redisIdGenerator(). It is kept in the store: another one is refused.
   */
  readonly layout?: BitLayout | undefined;
  /** How far ids may run ahead of the store's clock, 1 ms to an hour. Default 1000. */
  readonly aheadMs?: number | undefined;
  /**
   * Takes ids ahead of need, for nextId() and all else that cannot wait. Ids made so rise within
   * the process, those of nextIdAsync() over all processes. Default: none, and nextId() refuses.
   */
  readonly prefetch?: PrefetchOptions | undefined;
}

export interface CountedOptions extends IdOptions {
  /** One or several; their order is kept in them, so it must stay as it is. */
  readonly stores: readonly CounterStore[];
}

/** The options, completed. */
export interface CountedTerms {
  readonly stores: readonly CounterStore[];
  readonly tag: string;
  /** With the fields of the call. */
  readonly layout: BitLayout;
  readonly aheadMs: number;
  readonly prefetch: PrefetchOptions | undefined;
}

const HOUR_MS = 3_600_000;
const NAMES = 'stores, tag, layout, aheadMs, prefetch';

/** @throws SnowflakeError CONFIG_INVALID with every fault in `details.faults` */
export function countedTerms(options: CountedOptions): CountedTerms {
  const { stores, tag, aheadMs = 1000, prefetch, layout = layouts.redisIdGenerator() } = options;
  const faults = [
    ...unknownNames(options, NAMES, 'countedIds()'),
    ...storeFaults('stores', stores),
    ...nameFaults('tag', tag),
    ...wholeFaults('aheadMs', aheadMs, [1, HOUR_MS]),
    ...prefetchFaults(prefetch),
    ...layoutFaults(layout),
  ];
  if (faults.length === 0 && perMsOf(layout, stores.length) < 1) {
    faults.push(
      `Expected at most ${layout.sequence.max + 1} stores, as many as the layout ` +
        `${layout.fingerprint} has sequences in a millisecond, got ${stores.length}.`,
    );
  }
  refuse(faults);
  return { stores, tag, layout: byCall(layout), aheadMs, prefetch };
}

/** The same bits, all but time and sequence filled by the call: nobody leases them. */
function byCall({ fields, epochMs, unitMs }: BitLayout): BitLayout {
  return new BitLayout({
    epoch: epochText(epochMs),
    unitMs,
    fields: fields.map(({ name, bits, role }) =>
      role === 'timestamp' || role === 'sequence' ? [name, bits] : [name, bits, 'call'],
    ),
  });
}

function prefetchFaults(prefetch: Partial<PrefetchOptions> | undefined): string[] {
  if (prefetch === undefined) return [];
  if (typeof prefetch !== 'object' || prefetch === null) {
    return [`Expected \`prefetch\` to be { count, staleMs }, got ${shown(prefetch)}.`];
  }
  const { count, staleMs, ...others } = prefetch;
  return [
    ...wholeFaults('prefetch.count', count, [1, 1_000_000]),
    ...wholeFaults('prefetch.staleMs', staleMs, [10, HOUR_MS]),
    ...Object.keys(others).map((name) => `\`prefetch\` has no option \`${name}\`.`),
  ];
}

/** By its face, since it may come from a second copy of this package. */
function layoutFaults(layout: Partial<BitLayout>): string[] {
  if (typeof layout?.fingerprint !== 'string' || !Array.isArray(layout.fields)) {
    return [`Expected \`layout\` to be a BitLayout, got ${shown(layout)}.`];
  }
  if (layout.unitMs === 1) return [];
  return [
    `Expected a \`layout\` in units of 1 ms, got ${layout.fingerprint}: a position of the ` +
      `counter is a millisecond and a number within it, so ids of a longer unit would come twice.`,
  ];
}
