// Measures one case: how long inserting rows takes with one kind of primary key on one database.
//
// Guarantee: a fresh table that holds 50,000 rows already, filled by a process that does nothing
// else.
import { TypeOrmModule } from '@nestjs/typeorm';
import { Column, DataSource, Entity, Index } from 'typeorm';
import { withApplication } from '../harness/application.mjs';
import { KINDS } from './kinds.mjs';

// What the database says of a table: how large it is, and which type its key has become.
//
// Guarantee: the figures are the database's own. They compare kinds of key on one database, not one
// database with another, because the two store a primary key in different places.

/** @typedef {{ tableBytes: number, indexBytes: number }} Sizes */

/**
 * PostgreSQL keeps the rows in a heap, in the order of insertion, and the primary key in an index
 * beside it: `tableBytes` is the heap, `indexBytes` the primary key and the secondary index.
 */
const POSTGRES_SIZES = `SELECT pg_relation_size('%TABLE%') AS "tableBytes",
  pg_indexes_size('%TABLE%') AS "indexBytes"`;

/**
 * InnoDB keeps the rows in the primary key's own tree: `tableBytes` is that tree, rows and key
 * together, and `indexBytes` the secondary index alone, whose every entry repeats the primary key.
 * Both count the pages set aside for the tree, some of them still empty, and grow by 64 pages of
 * 16 KiB at a time: a difference of less than 1 MiB may not show.
 */
const MARIADB_SIZES = `SELECT DATA_LENGTH AS tableBytes, INDEX_LENGTH AS indexBytes
  FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = '%TABLE%'`;

const KEY_TYPE = `SELECT data_type AS type, character_maximum_length AS length
  FROM information_schema.columns
  WHERE table_schema = %SCHEMA% AND table_name = '%TABLE%' AND column_name = 'id'`;

/** The two drivers give the same figures as numbers and as text. */
async function oneRow(/** @type {import('typeorm').DataSource} */ dataSource, sql, table) {
  const rows = await dataSource.query(sql.replaceAll('%TABLE%', table));
  if (rows.length !== 1) throw new Error(`Expected one row about ${table}, got ${rows.length}.`);
  return rows[0];
}

/** @returns {Promise<Sizes>} */
async function tableSizes(dataSource, table) {
  const isPostgres = dataSource.options.type === 'postgres';
  // InnoDB answers from statistics, which it otherwise renews some time after the rows came.
  if (!isPostgres) await dataSource.query(`ANALYZE TABLE ${table}`);
  const sql = isPostgres ? POSTGRES_SIZES : MARIADB_SIZES;
  const { tableBytes, indexBytes } = await oneRow(dataSource, sql, table);
  return { tableBytes: Number(tableBytes), indexBytes: Number(indexBytes) };
}

/** @returns {Promise<string>} such as `bigint`, `uuid` or `varchar(36)` */
async function keyType(dataSource, table) {
  const schema = dataSource.options.type === 'postgres' ? 'current_schema()' : 'DATABASE()';
  const { type, length } = await oneRow(dataSource, KEY_TYPE.replace('%SCHEMA%', schema), table);
  return length === null ? type : `${type}(${length})`;
}

const TABLE = 'insert_benchmark';
const BATCH = 500;

/** A random key is as fast as any other in an empty table, where every page is in use anyway. */
const ROWS_BEFORE = 50_000;

const CUSTOMERS = 5_000;

const FIRST_MOMENT = Date.UTC(2025, 0, 1);

/** Decorators called as functions, because plain JavaScript has no syntax for them. */
function entityWith(/** @type {PropertyDecorator} */ key) {
  class Purchase {}
  Entity(TABLE)(Purchase);
  key(Purchase.prototype, 'id');
  Column({ type: 'text' })(Purchase.prototype, 'note');
  Column({ type: 'integer' })(Purchase.prototype, 'customer');
  Index()(Purchase.prototype, 'customer');
  Column({ type: 'timestamp' })(Purchase.prototype, 'boughtAt');
  return Purchase;
}

/**
 * Looks random, is the same in every run. Some customers buy much more often than others, so that
 * the pages of the secondary index do not all fill up, and split, at the same moment.
 */
function customerOf(/** @type {number} */ n) {
  const mixed = Math.imul(n ^ (n >>> 7), 0x9e3779b1) >>> 0;
  const hash = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b) >>> 0;
  return Math.floor(CUSTOMERS * (hash / 2 ** 32) ** 2);
}

function purchase(/** @type {number} */ n) {
  return {
    note: `Purchase ${n}: to be left with the neighbours if nobody opens the door`.padEnd(80, '.'),
    customer: customerOf(n),
    boughtAt: new Date(FIRST_MOMENT + n * 1000),
  };
}

function batchesOf(/** @type {number} */ first, /** @type {number} */ count) {
  const rows = Array.from({ length: count }, (_, n) => purchase(first + n));
  const starts = Array.from({ length: Math.ceil(count / BATCH) }, (_, n) => n * BATCH);
  return starts.map((start) => rows.slice(start, start + BATCH));
}

async function createTable(/** @type {DataSource} */ dataSource) {
  const runner = dataSource.createQueryRunner();
  await runner.dropTable(TABLE, true);
  await runner.release();
  await dataSource.synchronize();
}

/** The ids are made in here, as they are part of what an insert costs. */
async function insertAll(repository, batches, newId) {
  for (const batch of batches) {
    if (newId !== undefined) for (const row of batch) row.id = newId();
    await repository.insert(batch);
  }
}

/** @returns {Promise<number>} milliseconds */
async function timeInserts(/** @type {DataSource} */ dataSource, entity, { newId, rows }) {
  const repository = dataSource.getRepository(entity);
  await insertAll(repository, batchesOf(0, ROWS_BEFORE), newId);
  const batches = batchesOf(ROWS_BEFORE, rows);
  const startedAt = performance.now();
  await insertAll(repository, batches, newId);
  const insertMs = performance.now() - startedAt;
  const stored = await repository.count();
  if (stored !== ROWS_BEFORE + rows)
    throw new Error(`Expected ${ROWS_BEFORE + rows} rows in the table, found ${stored}.`);
  return insertMs;
}

/**
 * In a Nest application as a user writes it; the library finds the DataSource by itself.
 * @param {{ database: 'postgres' | 'mariadb', kind: string, url: string, rows: number }} chosen
 * @returns {Promise<import('./kinds.mjs').Measurement>}
 */
export async function measure({ database, kind, url, rows }) {
  const { key, modules, newId } = KINDS[kind];
  const entity = entityWith(key());
  const entities = [entity];
  const typeorm = TypeOrmModule.forRoot({ type: database, url, entities, retryAttempts: 0 });
  return withApplication([typeorm, ...modules()], async (application) => {
    const dataSource = application.get(DataSource);
    await createTable(dataSource);
    const type = await keyType(dataSource, TABLE);
    const insertMs = await timeInserts(dataSource, entity, { newId, rows });
    const sizes = await tableSizes(dataSource, TABLE);
    return { database, kind, keyType: type, rows, insertMs: Number(insertMs.toFixed(1)), ...sizes };
  });
}
