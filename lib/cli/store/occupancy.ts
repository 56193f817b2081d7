/**
 * How many worker ids a registry has, and how many of them can be leased now, counted from what the
 * registry remembers. Where its fingerprint cannot be read the whole number is unknown, and so is
 * what is free.
 */
import type { RegistryView } from '../../registry/registry-view.js';
import { layoutOfFingerprint } from '../layout-option.js';

export interface Occupancy {
  /** Held by a process. */
  readonly held: number;
  /** Held by nobody, but used up to a time that has not come yet. */
  readonly pending: number;
  readonly free?: number;
  readonly workers?: number;
}

export function occupancyOf({ facts, workers: records }: RegistryView): Occupancy {
  const taken = records.filter(({ freeInMs }) => freeInMs > 0);
  const held = taken.filter(({ holder }) => holder !== undefined).length;
  const layout = facts && layoutOfFingerprint(facts.fingerprint);
  const pending = taken.length - held;
  if (layout === undefined) return { held, pending };
  const workers = layout.workerIdMax + 1;
  return { held, pending, free: Math.max(0, workers - taken.length), workers };
}

export function occupancyText({ held, pending, free, workers }: Occupancy): string {
  const parts = [`${held} held`, ...(pending > 0 ? [`${pending} not held but not free yet`] : [])];
  if (free !== undefined) parts.push(`${free} of ${workers} free`);
  return `${parts.join(', ')}.`;
}
