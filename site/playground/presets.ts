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

export const PRESET_NAMES = PRESETS.map(({ name }) => name);
