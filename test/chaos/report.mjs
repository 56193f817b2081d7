/**
 * What the processes wrote down is read here, what must not be is found in it, and what a run found
 * is put in words and figures, all in one file.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultIn, historiesOf } from './linearizable.mjs';

// Reads what the processes wrote down, and counts what must not be: ids made twice, ids of one
// process that go back without a change of worker id.

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
export function eventsOf(/** @type {string} */ path) {
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

// Reads what the sections of all processes wrote down, and finds what must not be: two that held
// one lock or permit, both before their own deadlines, more at once than a lock has permits, and a
// token that is not higher than those before it.

/**
 * @typedef {object} Hold from the first to the last moment at which its holder believed in it
 * @property {string} lock
 * @property {string} place the lock, or its permit
 * @property {number} [permits] how many may hold the lock at once, where it has permits
 * @property {number} lockCount of its section
 * @property {bigint} token
 * @property {string} file
 * @property {number} fromMs
 * @property {number} untilMs
 */

const placeOf = (/** @type {{ lock: string, permit?: number }} */ { lock, permit }) =>
  permit === undefined ? lock : `permit ${permit} of ${lock}`;

/**
 * @param {string} folder
 * @param {boolean} [losesReleases] whether the store may lose a release that nothing came after
 * @returns as `checkFolder` does: sections are what is made here
 */
export function checkHolds(folder, losesReleases = false) {
  const events = eventsIn(folder);
  const histories = [...historiesOf(events).values()];
  const holds = holdsOf(events, histories[0]?.believed);
  const places = new Set(holds.map(({ place }) => place));
  const found = [...places].map((name) => faultsOf(holds.filter(({ place }) => place === name)));
  const ofPermits = holds.filter(({ permits }) => permits !== undefined);
  const { crowds, most } = crowdsIn(ofPermits);
  const unexplained = histories.flatMap((each) => faultIn({ ...each, losesReleases }) ?? []);
  const twice = [...found.flatMap((each) => each.twice), ...crowds, ...unexplained];
  return {
    idCount: events.filter(({ kind }) => kind === 'write').length,
    duplicateCount: twice.length,
    duplicates: twice.slice(0, 5),
    disorderCount: found.reduce((sum, { fallenCount }) => sum + fallenCount, 0),
    leaseCount: holds.length,
    gaps: events.filter(({ kind }) => kind === 'gap'),
    /** What only the token can stop. */
    lateWriteCount: lateCount(events.filter(({ kind }) => kind === 'write')),
    kinds: {
      permitCount: ofPermits.length,
      most,
      severalCount: holds.filter(({ lockCount }) => lockCount > 1).length,
    },
    /** Answers of the store that have an order in which they happened one after another. */
    orderedCount: histories.reduce((sum, { calls }) => sum + calls.length, 0),
  };
}

/** @returns {any[]} each with its process */
export function eventsIn(/** @type {string} */ folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.events'));
  return names.flatMap((file) => {
    // A process that was killed may have written half a line last.
    const lines = readFileSync(join(folder, file), 'utf8').split('\n');
    return lines
      .filter((line) => line.endsWith('}'))
      .map((line) => ({ ...JSON.parse(line), file }));
  });
}

/**
 * A hold that was ended, or found to be lost, is over then, or when the clock of the store stepped
 * forward and was believed; the others at their deadline.
 * @param {any[]} events @param {readonly number[]} [believed]
 */
function holdsOf(events, believed = []) {
  /** @type {Map<string, Hold>} */
  const holds = new Map();
  const keyOf = (/** @type {any} */ event) => `${event.file} ${placeOf(event)} ${event.token}`;
  for (const event of events.filter(({ kind }) => kind === 'hold')) {
    const { untilMs } = event;
    const first = { ...event, place: placeOf(event), token: BigInt(event.token) };
    const known = holds.get(keyOf(event)) ?? first;
    known.untilMs = Math.max(known.untilMs, untilMs);
    holds.set(keyOf(event), known);
  }
  for (const event of events.filter(({ kind }) => kind === 'end')) {
    const known = holds.get(keyOf(event));
    if (known !== undefined) known.untilMs = Math.min(known.untilMs, event.atMs);
  }
  for (const hold of holds.values()) {
    const stepMs = believed.find((atMs) => hold.fromMs <= atMs && atMs < hold.untilMs);
    hold.untilMs = stepMs ?? hold.untilMs;
  }
  return [...holds.values()];
}

/** Of one lock or permit. @param {readonly Hold[]} holds */
function faultsOf(holds) {
  const twice = [];
  let fallenCount = 0;
  /** The one that lasts longest, and the highest token. @type {Hold | undefined} */
  let longest;
  let highest = 0n;
  for (const hold of holds.toSorted((a, b) => a.fromMs - b.fromMs)) {
    if (longest !== undefined && hold.fromMs < longest.untilMs) twice.push(textOf(longest, hold));
    if (hold.token <= highest) fallenCount++;
    if (hold.token > highest) highest = hold.token;
    if (longest === undefined || hold.untilMs > longest.untilMs) longest = hold;
  }
  return { twice, fallenCount };
}

/** Grants beyond what a lock has, and how many held one at once. @param {readonly Hold[]} holds */
function crowdsIn(holds) {
  const crowds = [];
  let most = 0;
  /** @type {Hold[]} */
  let held = [];
  for (const hold of holds.toSorted((a, b) => a.fromMs - b.fromMs)) {
    const { lock, permits = 1, file, fromMs } = hold;
    held = [...held.filter(({ untilMs }) => untilMs > fromMs), hold];
    const count = held.filter((one) => one.lock === lock).length;
    most = Math.max(most, count);
    if (count <= permits) continue;
    const what = `${lock} by ${count} at once, which has ${permits}`;
    crowds.push(`${what}, the last by ${file} at ${fromMs.toFixed(1)}`);
  }
  return { crowds, most };
}

function textOf(/** @type {Hold} */ one, /** @type {Hold} */ other) {
  const both = Math.min(one.untilMs, other.untilMs) - other.fromMs;
  return (
    `${one.place} by ${one.file} (${one.token}) and ${other.file} (${other.token}) ` +
    `for ${both.toFixed(1)} ms, from ${other.fromMs.toFixed(1)}`
  );
}

/** How many came after one with a higher token. */
function lateCount(/** @type {any[]} */ writes) {
  const highest = new Map();
  let count = 0;
  for (const write of writes.toSorted((a, b) => a.atMs - b.atMs)) {
    const [own, last] = [BigInt(write.token), highest.get(placeOf(write)) ?? 0n];
    if (own < last) count++;
    else highest.set(placeOf(write), own);
  }
  return count;
}

// What a run found, in words and figures, and whether it is good.

/** As long as the longest of a fault. */
const NAME_WIDTH = 43;

/** @typedef {Awaited<ReturnType<typeof import('./run-topology.mjs').runTopology>>} Result */

export function reportText(/** @type {readonly Result[]} */ results) {
  return results.map((result) => resultText(result)).join('\n');
}

function resultText(/** @type {Result} */ result) {
  const { topology, seconds, processCount, leaseCount, idCount, exits, faults, isPaced, grants } =
    result;
  const { words, lateWriteCount, kinds, orderedCount, effects } = result;
  const ends = Object.entries(exits).map(([how, count]) => `${how} ${count}`);
  const rows = faults.map(({ name, level, count, grantCount, longestGapMs }) => {
    const gap = longestGapMs === 0 ? 'none' : `${(longestGapMs / 1000).toFixed(1)} s`;
    const then = isPaced && level === 'store' ? `, then ${grantCount} ${grants}` : '';
    return `  ${name.padEnd(NAME_WIDTH)} ${String(count).padStart(5)}  ${gap}${then}`;
  });
  return [
    '',
    `${topology}, ${seconds} s: ${processCount} processes, ${leaseCount} ${grants}, ` +
      `${idCount.toLocaleString('en-US')} ${words.made}, ends: ${ends.join(', ')}`,
    ...(result.note === undefined ? [] : [`  ${result.note}`]),
    ...(result.previous === undefined ? [] : [`  ${previousText(result)}`]),
    `  ${'fault'.padEnd(NAME_WIDTH)} times  longest without ${words.stretch}, of one process`,
    ...rows,
    ...(result.pairCount > 0 ? [`  of these two of the store at once: ${result.pairCount}`] : []),
    `  ${words.twice} ${result.duplicateCount}, ${words.back} ${result.disorderCount}`,
    ...(lateWriteCount === undefined
      ? []
      : [`  late writes, which only the token can stop: ${lateWriteCount}`]),
    ...(kinds === undefined
      ? []
      : [
          `  of these ${kinds.permitCount} of permits, at most ${kinds.most} at once, and ` +
            `${kinds.severalCount} of several locks in one section`,
          `  answers of the store, put in an order for each lock: ${orderedCount}`,
        ]),
    ...(effects === undefined ? [] : [`  ${effectsText(effects)}`]),
    ...result.duplicates.map((text) => `    twice: ${text}`),
  ].join('\n');
}

function previousText(/** @type {Result} */ { previous, grants, words }) {
  const { processCount, leaseCount, idCount } = previous;
  // Sections and runs are not counted by build.
  const made =
    idCount === 0 ? '' : `, ${Math.floor(idCount).toLocaleString('en-US')} ${words.made}`;
  const counted = `${processCount} processes, ${leaseCount} ${grants}`;
  return `of these by the previous build: ${counted}${made}`;
}

/** @param {NonNullable<Result['effects']>} effects */
function effectsText({ jobCount, tickCount, effectCount, refusedCount, lossCount, ...more }) {
  return (
    `${jobCount} jobs, ${tickCount} ticks, ${effectCount} rows of effects, ` +
    `${refusedCount} refused by their token or tick; ${lossCount} losses and failovers, ` +
    `after which ${more.againCount} ` +
    `ticks were done again and ${more.leftOutCount} left out`
  );
}

/**
 * What a rule keeps from happening, where it is taken out.
 * @typedef {Pick<Result, 'duplicateCount'> & Partial<Result>} Found
 * @param {readonly Found[]} results
 * @param {import('./rules.mjs').Rule} rule
 */
export function foundOf(results, { shows = 'ids made twice' }) {
  return results.reduce((sum, { duplicateCount, disorderCount = 0, breaches = [] }) => {
    if (shows === 'processes that wait in vain') return sum + breaches.length;
    return sum + (shows === 'tokens that fell' ? disorderCount : duplicateCount);
  }, 0);
}

/**
 * With a rule taken out, a run that finds nothing would be blind.
 * @param {Parameters<typeof foundOf>[0]} results @param {import('./rules.mjs').Rule} rule
 */
export function controlVerdictOf(results, rule) {
  const { name, shows = 'ids made twice' } = rule;
  const count = foundOf(results, rule);
  const text =
    count > 0
      ? `\nWithout ${name} there were ${count} ${shows}, as expected.`
      : `\nWithout ${name} there were NO ${shows}: the check is blind.`;
  return { isGood: count > 0, text };
}

export function verdictOf(/** @type {readonly Result[]} */ results) {
  // What docs/concepts/guarantees.md says that no rule can help: it is counted, and no more.
  const strict = results.filter(({ toleratesTwice }) => !toleratesTwice);
  const sum = (/** @type {(result: Result) => number} */ of) =>
    strict.reduce((total, result) => total + of(result), 0);
  const duplicates = sum(({ duplicateCount }) => duplicateCount);
  const disorder = sum(({ disorderCount }) => disorderCount);
  if (duplicates + disorder > 0) {
    return { isGood: false, text: `\n${duplicates} DUPLICATES, ${disorder} OUT OF ORDER` };
  }
  const breaches = results.flatMap((result) => result.breaches);
  if (breaches.length > 0) return { isGood: false, text: `\n${breaches.join('\n')}` };
  const missing = results.flatMap(({ topology, faults }) =>
    faults.filter(({ count }) => count === 0).map(({ name }) => `${topology}: ${name}`),
  );
  const idle = results.flatMap(({ topology, faults, isPaced }) =>
    faults
      .filter(({ level, grantCount }) => isPaced && level === 'store' && grantCount === 0)
      .map(({ name }) => `${topology}: ${name}`),
  );
  const thin = results
    .filter((result) => result.isThin)
    .map(
      ({ topology, idCount, leaseCount, least, words, grants }) =>
        `${topology}: ${idCount} ${words.made} of ${least.ids}, ${leaseCount} ${grants} of ` +
        `${least.leases}`,
    );
  const reasons = [
    ...(missing.length > 0 ? [`never happened: ${missing.join(', ')}`] : []),
    ...(idle.length > 0 ? [`nothing was granted after: ${idle.join(', ')}`] : []),
    ...(thin.length > 0 ? [`too little was made: ${thin.join(', ')}`] : []),
  ];
  if (reasons.length > 0) {
    const what = reasons.join('; ');
    return { isGood: false, text: `\nNothing was found, but this proves little: ${what}.` };
  }
  const tolerated = 'What came twice here is beyond the promise, as the guarantees say.';
  const good = new Set(
    results.map(({ words, toleratesTwice }) => (toleratesTwice ? tolerated : words.good)),
  );
  return { isGood: true, text: `\n${[...good].join('\n')}` };
}
