/**
 * The operators' mistakes that real servers replay, as a table.
 *
 * In each, the run creates no duplicate ID, or the start fails with its reason before the first ID.
 */
import { join } from 'node:path';
import {
  playDatabase,
  playSelectGranted,
  playGivenClients,
  playPermissions,
  playRightTakenAway,
} from './clients.mjs';
import {
  playCertificates,
  playCluster,
  playEviction,
  playPromotion,
  playReplica,
  playNoConnectionFree,
  playOldFile,
  playOtherEpoch,
  playOtherLayout,
  playWrongServer,
} from './servers.mjs';
import { Stage } from './stage.mjs';

/**
 * @typedef {object} Mistake
 * @property {string} name on the command line and in the table of proof.md
 * @property {boolean} [isShort] whether it also runs for every change
 * @property {(stage: import('./stage.mjs').Stage) => Promise<void>} play
 */

/** @type {readonly Mistake[]} */
export const MISTAKES = [
  { name: 'permissions', isShort: true, play: playPermissions },
  { name: 'right-taken-away', play: playRightTakenAway },
  { name: 'database', isShort: true, play: playDatabase },
  { name: 'select-granted', isShort: true, play: playSelectGranted },
  { name: 'replica', play: playReplica },
  { name: 'promotion', play: playPromotion },
  { name: 'allkeys-lru', play: playEviction('allkeys-lru') },
  { name: 'allkeys-random', play: playEviction('allkeys-random') },
  { name: 'old-file', play: playOldFile },
  { name: 'secured-cluster', isShort: true, play: playCluster },
  { name: 'certificates', isShort: true, play: playCertificates },
  { name: 'given-clients', play: playGivenClients },
  { name: 'wrong-server', isShort: true, play: playWrongServer },
  { name: 'no-connection-free', play: playNoConnectionFree },
  { name: 'other-epoch', isShort: true, play: playOtherEpoch },
  { name: 'other-layout', play: playOtherLayout },
];

// Plays mistakes, a few at the same time since they mostly wait, and reports the result of each.

/** @typedef {Awaited<ReturnType<typeof runMistake>>} MistakeResult */

const BESIDE_EACH_OTHER = 3;

/** @param {{ mistakes: readonly Mistake[], folder: string, app: string }} parts */
export async function runMistakes({ mistakes, folder, app }) {
  const left = [...mistakes];
  /** @type {MistakeResult[]} */
  const results = [];
  const work = async () => {
    for (let mistake = left.shift(); mistake; mistake = left.shift()) {
      const result = await runMistake(mistake, join(folder, mistake.name), app);
      console.log(rowOf(result));
      results.push(result);
    }
  };
  console.log(HEAD);
  await Promise.all(Array.from({ length: BESIDE_EACH_OTHER }, work));
  return results;
}

async function runMistake(/** @type {Mistake} */ { name, play }, folder, app) {
  const stage = new Stage(folder, app);
  const sinceMs = performance.now();
  try {
    await play(stage);
  } catch (error) {
    stage.demand(false, `it broke off: ${/** @type {Error} */ (error).stack}`);
  } finally {
    await stage.clear();
  }
  return { name, seconds: Math.round((performance.now() - sinceMs) / 1000), ...stage.result() };
}

const row = (/** @type {string} */ name, /** @type {(string | number)[]} */ ...cells) =>
  name.padEnd(22) + cells.map((cell) => cell.toLocaleString('en-US').padStart(11)).join('');

const HEAD = row('mistake', 'seconds', 'starts', 'refused', 'ids', 'twice');

function rowOf(/** @type {MistakeResult} */ result) {
  const { name, seconds, starts, refused, idCount, duplicateCount, faults } = result;
  const figures = row(name, seconds, starts, refused, idCount, duplicateCount);
  const lines = [`${figures}  ${result.note}`.trimEnd()];
  if (result.disorderCount > 0) lines.push(`  out of order: ${result.disorderCount}`);
  return [...lines, ...faults.map((fault) => `  NOT SO: ${fault}`)].join('\n');
}

/** A run is good if it has no duplicate ID and meets every expectation. */
export function verdictsOfMistakes(/** @type {readonly MistakeResult[]} */ results) {
  if (results.length === 0) return [];
  const isBad = (/** @type {MistakeResult} */ { duplicateCount, disorderCount, faults }) =>
    duplicateCount + disorderCount + faults.length > 0;
  const bad = results.filter(isBad).map(({ name }) => name);
  if (bad.length > 0) return [{ isGood: false, text: `\nNot as it must be: ${bad.join(', ')}` }];
  const text = '\nNo mistake made an id twice, and each start that was refused said why.';
  return [{ isGood: true, text }];
}
