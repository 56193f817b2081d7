/**
 * What all processes of a simulation share.
 */
import type { LeaseWindow } from '../../../lib/core/window/lease-window.js';
import type { SettableTime } from '../../../lib/testing/settable-time.js';
import type { SeededRandom } from '../../../lib/testing/contract/harness.js';
import type { Oracle } from './oracle.js';
import type { Plan } from './plan.js';
import type { SimulatedRows } from './simulated-rows.js';
import type { SimulatedStore } from './simulated-store.js';

/** A line of the trace, made only where somebody reads it if it takes long to make. */
export type Note = string | (() => string);

export interface Environment {
  readonly plan: Plan;
  readonly time: SettableTime;
  readonly random: SeededRandom;
  readonly store: SimulatedStore | SimulatedRows;
  readonly oracle: Oracle;
  /** Those of every process there was, to be closed at the end. */
  readonly windows: Set<LeaseWindow>;
  /** True from the moment on when everything must come back to order. */
  areFaultsOver: boolean;
  readonly count: (fault: string) => void;
  readonly note: (who: string, text: Note) => void;
}
