/**
 * Which layout a registry is for: nobody's at first, one's, or contested by two.
 *
 * Promise: a layout gets ranges only where no other layout is known to have some that still last.
 * backends/redis/worker-ids/scripts/registry.lua says the same.
 */
import { contestedBy, isContested } from '../lease/contested-layout.js';
import type { RegistryHeader } from './slice.js';

/** A ceiling claimed by a holder is believed up to here; a wilder one is a fault of its clock. */
export const SANE_MS = 86_400_000;

/** True where a holder has a range in which it may still make ids. */
export function isLive(haveMs: number, nowMs: number): boolean {
  return nowMs < haveMs && haveMs < nowMs + SANE_MS;
}

export function isForAnother(header: RegistryHeader, fingerprint: string): boolean {
  return header.fingerprint !== '' && header.fingerprint !== fingerprint;
}

/** True where two layouts have ranges at once, which nobody knew until now. */
export function contests(header: RegistryHeader, haveMs: number, nowMs: number): boolean {
  return !isContested(header.fingerprint) && isLive(haveMs, nowMs);
}

export function contested(header: RegistryHeader, fingerprint: string): RegistryHeader {
  return { ...header, fingerprint: contestedBy(header.fingerprint, fingerprint) };
}

/** Written with the range that makes the claim, never before it. */
export function claimed(header: RegistryHeader, fingerprint: string): RegistryHeader {
  return { ...header, fingerprint };
}
