/**
 * Reads what the processes wrote down, and counts what must not be: ids made twice, ids of one
 * process that go back without a change of worker id.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A stretch without ids. `error` is what the calls were answered: `none` where the process did not
 * even ask, `starting` from its birth to its first id.
 * @typedef {{ place: string, fromMs: number, toMs: number, error: string }} Gap
 */

const SEQUENCE_BITS = 12n;

/**
 * @param {string} folder
 * @param {number} workerBits of the layout; 0 where ids are plain numbers
 * @returns everything that was seen in it
 */
export function checkFolder(folder, workerBits = 3) {
  const workerOf = (/** @type {bigint} */ id) => BigInt.asUintN(workerBits, id >> SEQUENCE_BITS);
  const names = readdirSync(folder).filter((name) => name.endsWith('.ids'));
  const lists = names.map((name) => idsOf(join(folder, name)));
  const events = names.flatMap((name) => eventsOf(join(folder, name.replace('.ids', '.events'))));
  const all = new BigUint64Array(lists.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const list of lists) {
    all.set(list, at);
    at += list.length;
  }
  all.sort();
  const duplicates = all.filter((id, index) => index > 0 && id === all[index - 1]);
  const partsOf = (/** @type {bigint} */ id) =>
    `worker ${workerOf(id)}, ${id >> (SEQUENCE_BITS + BigInt(workerBits))} ms after the epoch`;
  const textOf = (/** @type {bigint} */ id) =>
    workerBits === 0 ? String(id) : `${id} (${partsOf(id)})`;
  return {
    idCount: all.length,
    duplicateCount: duplicates.length,
    duplicates: [...duplicates.subarray(0, 5)].map((id) => textOf(id)),
    disorderCount: lists.reduce((sum, list) => sum + disorderOf(list, workerOf), 0),
    leaseCount: events.filter(({ kind }) => kind === 'grant').length,
    /** @type {Gap[]} */
    gaps: events.filter(({ kind }) => kind === 'gap'),
  };
}

/** A process that was killed may have written half an id last. */
function idsOf(/** @type {string} */ path) {
  const bytes = readFileSync(path);
  const length = Math.floor(bytes.length / 8);
  return new BigUint64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + length * 8));
}

/** Not every process tells events. @returns {any[]} */
function eventsOf(/** @type {string} */ path) {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line));
}

/** Going back is meant where a clock was set back and another worker id was taken for it. */
function disorderOf(
  /** @type {BigUint64Array} */ ids,
  /** @type {(id: bigint) => bigint} */ workerOf,
) {
  let count = 0;
  for (let at = 1; at < ids.length; at++) {
    const [id, before] = [ids[at] ?? 0n, ids[at - 1] ?? 0n];
    if (id <= before && workerOf(id) === workerOf(before)) count++;
  }
  return count;
}
