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
export async function tableSizes(dataSource, table) {
  const isPostgres = dataSource.options.type === 'postgres';
  // InnoDB answers from statistics, which it otherwise renews some time after the rows came.
  if (!isPostgres) await dataSource.query(`ANALYZE TABLE ${table}`);
  const sql = isPostgres ? POSTGRES_SIZES : MARIADB_SIZES;
  const { tableBytes, indexBytes } = await oneRow(dataSource, sql, table);
  return { tableBytes: Number(tableBytes), indexBytes: Number(indexBytes) };
}

/** @returns {Promise<string>} such as `bigint`, `uuid` or `varchar(36)` */
export async function keyType(dataSource, table) {
  const schema = dataSource.options.type === 'postgres' ? 'current_schema()' : 'DATABASE()';
  const { type, length } = await oneRow(dataSource, KEY_TYPE.replace('%SCHEMA%', schema), table);
  return length === null ? type : `${type}(${length})`;
}
