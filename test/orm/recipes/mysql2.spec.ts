/** The bare driver of MariaDB and MySQL, mysql2. */
import mysql, { type Connection, type ConnectionOptions, type RowDataPacket } from 'mysql2/promise';
import { describeRecipe } from './support/describe-recipe.js';
import { newId } from './support/made-ids.js';

const INSERT = 'INSERT INTO orders (id, label, total) VALUES (?, ?, 2)';
const UPSERT = `${INSERT} ON DUPLICATE KEY UPDATE total = VALUES(total)`;
const READ = 'SELECT id FROM orders WHERE label = ?';
const AS_JSON = 'SELECT JSON_ARRAYAGG(JSON_OBJECT("id", id)) AS id FROM orders WHERE label = ?';
const AS_TEXT = AS_JSON.replace('"id", id', '"id", CAST(id AS char)');

/** By a connection with these options. */
async function firstOf(
  { config }: Connection,
  options: ConnectionOptions,
  sql: string,
  label: string,
): Promise<unknown> {
  const { host, port, user, database } = config;
  const given = { host: host!, port: port!, user: user!, database: database!, ...options };
  const connection = await mysql.createConnection(given);
  const [rows] = await connection.query<RowDataPacket[]>(sql, [label]);
  await connection.end();
  return rows[0]!['id'];
}

const fromJson = (list: unknown): unknown => {
  const parsed: unknown = typeof list === 'string' ? JSON.parse(list) : list;
  return (parsed as { id: unknown }[])[0]!.id;
};

describeRecipe<Connection>({
  name: 'mysql2',
  kind: 'mariadb',
  open: ({ href }) => mysql.createConnection(href),
  close: (connection) => connection.end(),
  writes: [
    ['query of text', 'filled', (db, label) => db.query(INSERT, [newId(), label])],
    ['query of a bigint', 'filled', (db, label) => db.query(INSERT, [BigInt(newId()), label])],
    ['execute of text', 'filled', (db, label) => db.execute(INSERT, [newId(), label])],
    ['execute of a bigint', 'filled', (db, label) => db.execute(INSERT, [BigInt(newId()), label])],
    [
      'many rows',
      'filled',
      (db, label) => {
        const rows = [1, 2].map((n) => [newId(), `${label} ${n}`]);
        return db.query('INSERT INTO orders (id, label) VALUES ?', [rows]);
      },
    ],
    [
      'SET ?',
      'filled',
      (db, label) => db.query('INSERT INTO orders SET ?', { id: newId(), label }),
    ],
    ['ON DUPLICATE KEY, new', 'filled', (db, label) => db.query(UPSERT, [newId(), label])],
    ['ON DUPLICATE KEY, there', 'kept', (db, label) => db.query(UPSERT, [newId(), label])],
    [
      'ON DUPLICATE KEY that also sets id, there',
      're-keyed',
      (db, label) => db.query(`${UPSERT}, id = VALUES(id)`, [newId(), label]),
    ],
    [
      'REPLACE, there',
      're-keyed',
      (db, label) => db.query(INSERT.replace('INSERT', 'REPLACE'), [newId(), label]),
    ],
    ['a number', 'stores a rounded id', (db, label) => db.query(INSERT, [Number(newId()), label])],
    ['no id', 'refused', (db, label) => db.query('INSERT INTO orders SET ?', { label })],
    [
      'INSERT IGNORE without an id',
      'stores 0',
      (db, label) => db.query('INSERT IGNORE INTO orders SET ?', { label }),
    ],
  ],
  reads: [
    ['a column', 'rounded', (db, label) => firstOf(db, {}, READ, label)],
    [
      'a column, with supportBigNumbers',
      'string',
      (db, label) => firstOf(db, { supportBigNumbers: true }, READ, label),
    ],
    [
      'JSON_ARRAYAGG',
      'rounded',
      async (db, label) => fromJson(await firstOf(db, { supportBigNumbers: true }, AS_JSON, label)),
    ],
    [
      'JSON_ARRAYAGG of CAST(id AS char)',
      'string',
      async (db, label) => fromJson(await firstOf(db, {}, AS_TEXT, label)),
    ],
  ],
});
