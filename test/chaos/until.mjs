import { setTimeout as sleep } from 'node:timers/promises';

/** @param {() => Promise<unknown>} isSo errors count as no */
export async function until(isSo, spanMs = 15_000) {
  for (const endMs = performance.now() + spanMs; performance.now() < endMs; await sleep(50)) {
    if (await isSo().catch(() => false)) return;
  }
  throw new Error(`Waited ${spanMs / 1000} s in vain for: ${isSo.toString()}`);
}
