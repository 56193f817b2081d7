/**
 * Requests that cannot be meant so are refused before a store is asked.
 *
 * Promise: a name of the store's own, such as that of the header's row, is never that of a lock.
 */
import { shown } from '../shown.js';
import { nameFaults, refused, wholeFaults } from '../option-faults.js';
import type { AcquireRequest, ExtendRequest, HighestToken, ReleaseRequest } from './lock-store.js';

export const TTL_MS_MAX = 86_400_000;
const TOKEN_MAX = 2n ** 63n - 1n;
const LABEL = /^\P{C}{1,256}$/u;

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkAcquire(request: AcquireRequest): void {
  const { label, ttlMs, longestMs, have, era = 0, highest } = request;
  refuse([
    ...namesFaults(request),
    ...(typeof label === 'string' && LABEL.test(label)
      ? []
      : ['Expected `label` to be 1 to 256 characters that can be printed.']),
    ...wholeFaults('ttlMs', ttlMs, [1, TTL_MS_MAX]),
    ...wholeFaults('longestMs', longestMs, [ttlMs >= 1 ? ttlMs : 1, TTL_MS_MAX]),
    ...tokenFaults('have', have),
    ...wholeFaults('era', era, [0, Number.MAX_SAFE_INTEGER]),
    ...highestFaults(highest),
  ]);
}

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkExtend(request: ExtendRequest): void {
  refuse([
    ...namesFaults(request),
    ...tokenFaults('token', request.token),
    ...wholeFaults('ttlMs', request.ttlMs, [1, TTL_MS_MAX]),
    ...wholeFaults('era', request.era ?? 0, [0, Number.MAX_SAFE_INTEGER]),
    ...highestFaults(request.highest),
  ]);
}

/** @throws SnowflakeError CONFIG_INVALID with every fault */
export function checkRelease(request: ReleaseRequest): void {
  const { token, keepMs } = request;
  refuse([
    ...namesFaults(request),
    ...(token === undefined ? [] : tokenFaults('token', token)),
    ...(keepMs === undefined ? [] : wholeFaults('keepMs', keepMs, [0, TTL_MS_MAX])),
  ]);
}

function namesFaults({ lock, holder }: { readonly lock: string; readonly holder: string }) {
  return [...nameFaults('lock', lock), ...nameFaults('holder', holder)];
}

function highestFaults(highest: HighestToken | undefined): string[] {
  if (highest === undefined) return [];
  const { token, ageMs } = highest;
  const age = wholeFaults('highest.ageMs', ageMs, [0, Number.MAX_SAFE_INTEGER]);
  return [...tokenFaults('highest.token', token), ...age];
}

function tokenFaults(name: string, value: unknown): string[] {
  if (typeof value === 'bigint' && value >= 0n && value <= TOKEN_MAX) return [];
  return [`Expected \`${name}\` to be a bigint from 0n to 2n ** 63n - 1n, got ${shown(value)}.`];
}

function refuse(faults: readonly string[]): void {
  if (faults.length === 0) return;
  throw refused(faults, 'This request for a lock is invalid. ');
}
