// Every refusal of a SQLite file, each with a real file: through the handle of any driver, or by a
// URL if the driver itself cannot open the file.
import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @typedef {{ exec(sql: string): unknown, close(): unknown }} Handle
 * @typedef {{ database: Handle } | { path: string }} Refusing
 * @typedef {{ folder: string, open: (path: string) => any, table: string }} Means
 */

/** @type {[refusal: string, words: RegExp, make: (means: Means) => Refusing][]} */
export const REFUSALS = [
  ['no-file', /If its path is right, create it/, ({ folder }) => ({ path: join(folder, 'x.db') })],
  ['file', /Check its path/, ({ folder }) => ({ path: join(folder, 'none', 'x.db') })],
  ['file', /Check its path/, ({ folder }) => ({ path: folder })],
  [
    'file',
    /Check its path/,
    ({ folder }) => {
      const path = join(folder, 'text.db');
      writeFileSync(path, 'no database'.repeat(500));
      return { path };
    },
  ],
  [
    'damaged',
    /put a backup in its place/,
    ({ folder, open, table }) => {
      const path = made({ folder, open, table }, 'damaged.db');
      const bytes = readFileSync(path);
      bytes.fill(255, 4096);
      writeFileSync(path, bytes);
      return { database: open(path) };
    },
  ],
  [
    'damaged',
    /put a backup in its place/,
    (means) => {
      const path = made(means, 'short.db');
      truncateSync(path, 4096);
      return { database: means.open(path) };
    },
  ],
  ['no-table', /Create it/, ({ folder, open }) => ({ database: open(join(folder, 'new.db')) })],
  [
    'other-table',
    /does not have the expected columns/,
    ({ folder, open }) => {
      const database = open(join(folder, 'other.db'));
      database.exec('CREATE TABLE snowflake_registry (id INTEGER PRIMARY KEY)');
      return { database };
    },
  ],
  [
    'busy',
    /has a transaction open/,
    (means) => {
      const path = made(means, 'busy.db');
      const holder = means.open(path);
      holder.exec('BEGIN EXCLUSIVE');
      // The garbage collector would close a handle without a reference.
      return { database: Object.assign(means.open(path), { holder }) };
    },
  ],
  [
    'busy',
    /has a transaction open/,
    (means) => {
      const database = means.open(made(means, 'own.db'));
      database.exec('BEGIN');
      return { database };
    },
  ],
  [
    'read-only',
    /not writable/,
    (means) => {
      const database = means.open(made(means, 'read-only.db'));
      database.exec('PRAGMA query_only = ON');
      return { database };
    },
  ],
  [
    'disk',
    /Free some space/,
    (means) => {
      const database = means.open(made(means, 'full.db'));
      database.exec('PRAGMA max_page_count = 1');
      fill(database);
      return { database };
    },
  ],
];

/** Words that make no sense for a file. */
export const OF_SERVERS = /\b(ports?|hosts?|servers?|replicas?|primary|login|pools?|log)\b/i;

function made(/** @type {Means} */ { folder, open, table }, /** @type {string} */ name) {
  const path = join(folder, name);
  const database = open(path);
  database.exec(table);
  database.close();
  return path;
}

/** Writes rows of another namespace until the disk is full. */
function fill(/** @type {Handle} */ database) {
  for (let count = 0; count < 1000; count++) {
    const values = `'others', 'filler', '${count}', 1, 1, '{}'`;
    try {
      database.exec(
        `INSERT INTO snowflake_registry (namespace, kind, name, version, number, data) ` +
          `VALUES (${values})`,
      );
    } catch {
      return; // It is full, as it shall be.
    }
  }
}
