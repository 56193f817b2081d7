/**
 * Guesses the presets that an ID can belong to, most likely first, because an ID does not name its
 * layout. A preset is plausible if the time of the ID is between 2010, or its epoch, and now. The
 * most likely preset has the shortest description. Most IDs are recent, have a low worker ID and
 * are early in their tick. In the wrong layout, these fields look random.
 */
import { layouts } from '../core/layout/presets.js';

export interface PlausibleLayout {
  /** All presets with the same bits, unit and epoch. */
  readonly presets: readonly string[];
  readonly timestampMs: number;
  readonly workerId: number;
  readonly sequence: number;
}

const DAY_MS = 86_400_000;
/** Twitter announced the first Snowflake IDs in this month. */
const FIRST_OF_ALL_MS = Date.UTC(2010, 5, 1);

const PRESETS = Object.entries(layouts).map(([name, preset]) => ({ name, layout: preset() }));
const KNOWN = PRESETS.flatMap(({ name, layout }) => {
  const same = PRESETS.filter((each) => each.layout.fingerprint === layout.fingerprint);
  return same[0]!.name === name ? [{ presets: same.map((each) => each.name), layout }] : [];
});

export function plausibleLayouts(id: bigint, nowMs: number): PlausibleLayout[] {
  const fits = KNOWN.flatMap(({ presets, layout }) => {
    if (id > layout.idMax) return [];
    const { timestampMs, workerId, sequence } = layout.parse(id);
    // In every layout, a counter would look like the first moments after the epoch.
    const sinceMs = Math.max(FIRST_OF_ALL_MS, layout.epochMs + DAY_MS);
    if (timestampMs < sinceMs || timestampMs > nowMs + DAY_MS) return [];
    const ticksAgo = Math.abs(nowMs - timestampMs) / layout.unitMs;
    const bits = Math.log2((ticksAgo + 1) * (workerId + 1) * (sequence + 1));
    return [{ bits, fit: { presets, timestampMs, workerId, sequence } }];
  });
  return fits.toSorted((one, other) => one.bits - other.bits).map(({ fit }) => fit);
}
