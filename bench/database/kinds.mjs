// The kinds of primary key that are compared.
//
// Guarantee: each is what an application would write; all else of the entity and of the application
// is the same for all, and only the one with snowflake ids has this library in it.
import { ScheduleModule } from '@nestjs/schedule';
import { PrimaryColumn, PrimaryGeneratedColumn } from 'typeorm';
import { v4, v7 } from 'uuid';
import { median, span, times, bold } from '../harness/figures.mjs';
import { WORKER_ID } from '../harness/generators.mjs';
import { importMain, importTypeorm } from '../harness/library.mjs';

const { SnowflakeModule } = await importMain();
const { SnowflakeId } = await importTypeorm();

/**
 * @typedef {object} Kind
 * @property {() => PropertyDecorator} key declares the property `id` of the entity
 * @property {() => import('@nestjs/common').DynamicModule[]} modules what the application needs
 * @property {() => string} [newId] makes the id where the application does it itself
 */

const none = () => [];

/** On a MariaDB older than 10.7, which has no uuid, TypeORM makes it a varchar(36). */
const uuidKey = () => PrimaryColumn({ type: 'uuid' });

/** @type {Readonly<Record<string, Kind>>} */
export const KINDS = {
  snowflake: {
    key: () => SnowflakeId(),
    modules: () => [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ workerId: WORKER_ID })],
  },
  'uuid-v4': { key: uuidKey, modules: none, newId: () => v4() },
  'uuid-v7': { key: uuidKey, modules: none, newId: () => v7() },
  'auto-increment': {
    key: () => PrimaryGeneratedColumn('increment', { type: 'bigint' }),
    modules: none,
  },
};

// Makes the table out of the measurements of all rounds.
//
// Guarantee: one row for each database and kind of key; the ratio is made of medians before they
// are rounded.

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
