/**
 * Reads the records of the processes, finds errors in them, and reports the result of a run in
 * words and figures.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { faultIn, historiesOf } from './linearizable.mjs';

// Reads the records of the processes, and counts errors: duplicate IDs, and IDs of one process that
// decrease without a change of worker ID.

/**
 * A gap without IDs. `error` is the error of the calls: `none` if the process did not call,
 * `starting` from its birth to its first ID.
 * @typedef {{ place: string, fromMs: number, toMs: number, error: string }} Gap
 */

const SEQUENCE_BITS = 12n;

/**
 * @param {string} folder
 * @param {number} workerBits of the layout; 0 if IDs are plain numbers
 * @returns everything that the records show
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

/** The last ID of a killed process may be incomplete. */
function idsOf(/** @type {string} */ path) {
  const bytes = readFileSync(path);
  const length = Math.floor(bytes.length / 8);
  return new BigUint64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + length * 8));
}

/** Some processes record no events. @returns {any[]} */
export function eventsOf(/** @type {string} */ path) {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line));
}

/** IDs may decrease after a clock was set back and the process took another worker ID. */
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

// Reads the records of the sections of all processes, and finds errors. These are two holders of
// one lock or permit before their deadlines, more holders than permits, and a token that does not
// exceed all earlier ones.

/**
 * @typedef {object} Hold from the first to the last moment at which its holder considers it held
 * @property {string} lock
 * @property {string} place the lock, or its permit
 * @property {number} [permits] how many processes may hold the lock at once, if it has permits
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
 * @param {boolean} [losesReleases] whether the store may lose its last release
 * @returns as `checkFolder` does, with sections instead of IDs
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
    /** Only the token can stop these. */
    lateWriteCount: lateCount(events.filter(({ kind }) => kind === 'write')),
    kinds: {
      permitCount: ofPermits.length,
      most,
      severalCount: holds.filter(({ lockCount }) => lockCount > 1).length,
    },
    /** Answers of the store that fit into an order of calls. */
    orderedCount: histories.reduce((sum, { calls }) => sum + calls.length, 0),
  };
}

/** @returns {any[]} each with its process */
export function eventsIn(/** @type {string} */ folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.events'));
  return names.flatMap((file) => {
    // The last line of a killed process may be incomplete.
    const lines = readFileSync(join(folder, file), 'utf8').split('\n');
    return lines
      .filter((line) => line.endsWith('}'))
      .map((line) => ({ ...JSON.parse(line), file }));
  });
}

/**
 * A hold ends when its holder ended it, found it lost, or believed a step forward of the store's
 * clock. All others end at their deadline.
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

/** The holds of one lock or permit. @param {readonly Hold[]} holds */
function faultsOf(holds) {
  const twice = [];
  let fallenCount = 0;
  /** The hold that lasts longest, and the highest token. @type {Hold | undefined} */
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

/**
 * Grants beyond the permits, and the largest count of holders at once. @param {readonly Hold[]}
 * holds
 */
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

/** How many writes came after a higher token. */
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

// The result of a run, in words and figures, and whether it is good.

/** As long as the longest name of a fault. */
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
  // Sections and runs have no count by build.
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
 * The errors that a removed rule prevents.
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
 * If a run without the rule finds no error, the check is blind.
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
  // Duplicates that docs/concepts/guarantees.md excludes from the promise. They only count.
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
