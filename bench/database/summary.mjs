// Makes the table out of the measurements of all rounds.
//
// Guarantee: one row for each database and kind of key; the ratio is made of medians before they
// are rounded.
import { median, span, times } from '../harness/figures.mjs';
import { bold } from '../harness/table.mjs';

/**
 * @typedef {object} Measurement what insert-case.mjs gives
 * @property {string} database
 * @property {string} kind
 * @property {string} keyType
 * @property {number} rows
 * @property {number} insertMs
 * @property {number} tableBytes
 * @property {number} indexBytes
 */

export const COLUMNS = [
  'database',
  'primary key',
  'column type',
  'ms, median',
  'ms, min–max',
  'ms / snowflake',
  'table, MiB',
  'indexes, MiB',
];

const BASELINE = 'snowflake';
const NAMES = { postgres: 'PostgreSQL', mariadb: 'MariaDB' };
const MIB = 2 ** 20;

const medianOf = (/** @type {Measurement[]} */ rounds, /** @type {keyof Measurement} */ key) =>
  median(rounds.map((round) => Number(round[key])));

/** @returns {string[]} a cell for each of COLUMNS */
function rowOf(/** @type {Measurement[]} */ rounds, /** @type {number} */ baselineMs) {
  const [{ database, kind, keyType }] = rounds;
  const insertMs = medianOf(rounds, 'insertMs');
  return [
    NAMES[database],
    kind === BASELINE ? bold(kind) : kind,
    keyType,
    insertMs.toFixed(0),
    span(rounds.map((round) => round.insertMs)),
    times(insertMs, baselineMs),
    (medianOf(rounds, 'tableBytes') / MIB).toFixed(1),
    (medianOf(rounds, 'indexBytes') / MIB).toFixed(1),
  ];
}

/** @returns {string[][]} */
export function summarize(/** @type {Measurement[][]} */ cases) {
  return cases.map((rounds) => {
    const [{ database }] = rounds;
    const baseline = cases.find(
      ([other]) => other.database === database && other.kind === BASELINE,
    );
    return rowOf(rounds, medianOf(baseline, 'insertMs'));
  });
}
