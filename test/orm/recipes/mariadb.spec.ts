/** The bare driver of MariaDB, mariadb. */
import mariadb, { type Connection, type QueryOptions } from 'mariadb';
import { describeRecipe } from './support/describe-recipe.js';
import { newId } from './support/made-ids.js';

const INSERT = 'INSERT INTO orders (id, label, total) VALUES (?, ?, 2)';
const UPSERT = `${INSERT} ON DUPLICATE KEY UPDATE total = VALUES(total)`;
const READ = 'SELECT id FROM orders WHERE label = ?';
const AS_JSON = 'SELECT JSON_ARRAYAGG(JSON_OBJECT("id", id)) AS id FROM orders WHERE label = ?';

const firstOf = async (db: Connection, sql: string | QueryOptions, label: string) =>
  (await db.query<{ id: unknown }[]>(sql, [label]))[0]!.id;

const fromJson = (list: unknown): unknown => {
  const parsed: unknown = typeof list === 'string' ? JSON.parse(list) : list;
  return (parsed as { id: unknown }[])[0]!.id;
};

describeRecipe<Connection>({
  name: 'mariadb',
  kind: 'mariadb',
  open: ({ hostname, port, username, pathname }) =>
    mariadb.createConnection({
      host: hostname,
      port: Number(port),
      user: username,
      database: pathname.slice(1),
      // By default 1 s, which a busy machine may need.
      connectTimeout: 60_000,
    }),
  close: (db) => db.end(),
  writes: [
    ['query of text', 'filled', (db, label) => db.query(INSERT, [newId(), label])],
    ['query of a bigint', 'filled', (db, label) => db.query(INSERT, [BigInt(newId()), label])],
    ['execute of text', 'filled', (db, label) => db.execute(INSERT, [newId(), label])],
    ['execute of a bigint', 'filled', (db, label) => db.execute(INSERT, [BigInt(newId()), label])],
    [
      'batch',
      'filled',
      (db, label) =>
        db.batch(
          INSERT,
          [1, 2].map((n) => [newId(), `${label} ${n}`]),
        ),
    ],
    ['ON DUPLICATE KEY, new', 'filled', (db, label) => db.query(UPSERT, [newId(), label])],
    ['ON DUPLICATE KEY, there', 'kept', (db, label) => db.query(UPSERT, [newId(), label])],
    [
      'REPLACE, there',
      're-keyed',
      (db, label) => db.query(INSERT.replace('INSERT', 'REPLACE'), [newId(), label]),
    ],
    ['a number', 'stores a rounded id', (db, label) => db.query(INSERT, [Number(newId()), label])],
    ['no id', 'refused', (db, label) => db.query('INSERT INTO orders (label) VALUES (?)', [label])],
    [
      'INSERT IGNORE without an id',
      'stores 0',
      (db, label) => db.query('INSERT IGNORE INTO orders (label) VALUES (?)', [label]),
    ],
  ],
  reads: [
    ['a column', 'bigint', (db, label) => firstOf(db, READ, label)],
    [
      'a column, with bigIntAsNumber',
      'rounded',
      (db, label) => firstOf(db, { sql: READ, bigIntAsNumber: true }, label),
    ],
    [
      'a column, with bigIntAsNumber and checkNumberRange',
      'throws',
      (db, label) =>
        firstOf(db, { sql: READ, bigIntAsNumber: true, checkNumberRange: true }, label),
    ],
    ['JSON_ARRAYAGG', 'rounded', async (db, label) => fromJson(await firstOf(db, AS_JSON, label))],
    [
      'JSON_ARRAYAGG of CAST(id AS char)',
      'string',
      async (db, label) => {
        const sql = AS_JSON.replace('"id", id', '"id", CAST(id AS char)');
        return fromJson(await firstOf(db, sql, label));
      },
    ],
  ],
});
