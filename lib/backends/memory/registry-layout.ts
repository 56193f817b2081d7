/**
 * Which layout a registry is for: nobody's at first, one's, or contested by two.
 *
 * Promise: a layout gets ranges only where no other layout is known to have some that still last.
 * The Lua of backends/redis says the same.
 */
import { contestedBy, isContested } from '../../lease/contested-layout.js';
import { nowAt, type RegistryState } from './registry-state.js';

/** A ceiling claimed by a holder is believed up to here; a wilder one is a fault of its clock. */
export const SANE_MS = 86_400_000;

/** True where a holder has a range that it may still make ids in. */
export function isLive(haveMs: number, nowMs: number): boolean {
  return nowMs < haveMs && haveMs < nowMs + SANE_MS;
}

export function isForAnother(state: RegistryState, fingerprint: string): boolean {
  return state.fingerprint !== '' && state.fingerprint !== fingerprint;
}

/** True where two layouts have ranges at once, which nobody knew until now. */
export function contests(state: RegistryState, haveMs: number, timeMs: number): boolean {
  return !isContested(state.fingerprint) && isLive(haveMs, nowAt(state, timeMs));
}

export function contest(state: RegistryState, fingerprint: string): void {
  state.fingerprint = contestedBy(state.fingerprint, fingerprint);
}
