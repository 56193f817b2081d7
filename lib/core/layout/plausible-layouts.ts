/**
 * Which presets an id can be of, likeliest first. An id does not say its layout, so this is a guess
 * and is told as one.
 *
 * Whatever has a time between 2010, or its epoch, and now is listed. The likeliest needs the
 * shortest description: ids of one system are mostly recent, of a low worker id, and early in
 * their tick, while the bits of another system read as these fields are any number.
 */
import type { BitLayout } from './bit-layout.js';
import { layouts } from './presets.js';

export interface PlausibleLayout {
  /** All presets with these bits, this unit and this epoch. */
  readonly presets: readonly string[];
  readonly timestampMs: number;
  readonly workerId: number;
  readonly sequence: number;
}

const DAY_MS = 86_400_000;
/** Twitter announced the first of them in this month. */
const FIRST_OF_ALL_MS = Date.UTC(2010, 5, 1);

export class PlausibleLayouts {
  private readonly known: readonly { readonly presets: string[]; readonly layout: BitLayout }[];

  constructor(private readonly nowMs: number) {
    const byFingerprint = new Map<string, { presets: string[]; layout: BitLayout }>();
    for (const [name, preset] of Object.entries(layouts)) {
      const layout = preset();
      const same = byFingerprint.get(layout.fingerprint);
      if (same === undefined) byFingerprint.set(layout.fingerprint, { presets: [name], layout });
      else same.presets.push(name);
    }
    this.known = [...byFingerprint.values()];
  }

  of(id: bigint): PlausibleLayout[] {
    return this.known
      .flatMap(({ presets, layout }) => {
        if (id > layout.idMax) return [];
        const { timestampMs, workerId, sequence } = layout.parse(id);
        // A counter reads as the first moments of every layout.
        const sinceMs = Math.max(FIRST_OF_ALL_MS, layout.epochMs + DAY_MS);
        if (timestampMs < sinceMs || timestampMs > this.nowMs + DAY_MS) return [];
        const ticksAgo = Math.abs(this.nowMs - timestampMs) / layout.unitMs;
        const bits = Math.log2((ticksAgo + 1) * (workerId + 1) * (sequence + 1));
        return [{ bits, fit: { presets, timestampMs, workerId, sequence } }];
      })
      .toSorted((one, other) => one.bits - other.bits)
      .map(({ fit }) => fit);
  }
}
