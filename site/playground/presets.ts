/**
 * The layouts to choose from: those that the library ships.
 */
import { layouts, type BitLayout } from 'nestjs-snowflake/core';

export interface Preset {
  readonly name: string;
  readonly layout: BitLayout;
}

export const PRESETS: readonly Preset[] = Object.entries(layouts).map(([name, layout]) => ({
  name,
  layout: layout(),
}));

/** An id made now has the time of now; clocks differ a little. */
const AHEAD_MS = 86_400_000;

/** Those whose reading of an id is a time that has been: a guess, and often more than one. */
export function presetsThatFit(id: bigint, nowMs: number): Preset[] {
  return PRESETS.filter(({ layout }) => {
    if (id > layout.idMax) return false;
    const timestampMs = layout.timestampMsOf(id);
    return timestampMs > layout.epochMs && timestampMs <= nowMs + AHEAD_MS;
  });
}
