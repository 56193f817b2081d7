// The benchmark of inserting rows by TypeORM with four kinds of primary key, on PostgreSQL and
// MariaDB.
//
// Guarantee: every measurement is a process of its own and the cases take turns, so that a slow
// minute of the machine falls on all of them; both servers are gone at the end.
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { inTurnsApart } from '../harness/turns.mjs';
import { KINDS, COLUMNS, summarize } from './kinds.mjs';

const ROWS = 10_000;
const INSERT_CASE = new URL('insert-case.mjs', import.meta.url);

const STARTERS = { postgres: startPostgres, mariadb: startMariadb };

/** @returns {Promise<string[][]>} a row for each kind of key on each database */
async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const servers = {};
  try {
    for (const [database, start] of Object.entries(STARTERS)) servers[database] = await start();
    const cases = Object.entries(servers).flatMap(([database, { url }]) =>
      Object.keys(KINDS).map((kind) => ({ database, kind, url, rows: ROWS })),
    );
    const byCase = await inTurnsApart({ file: INSERT_CASE, cases }, options);
    return summarize([...byCase.values()]);
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  }
}

const inserting = {
  title: 'Inserting 10,000 rows with TypeORM',
  explanation:
    'The time `repository.insert()` takes for 10,000 rows in batches of 500, making the ids ' +
    'included, into a table that holds 50,000 rows of the same kind already. ' +
    'The servers run on the same machine and do not wait for the disk, and the table fits into ' +
    'their memory, so this does not show what random keys cost in a table that does not. ' +
    'On PostgreSQL the indexes are the primary key and one secondary index. ' +
    'MariaDB keeps the rows in the primary key, so there the table is both, and the indexes are ' +
    'the secondary one, which repeats the primary key and grows in steps of 1 MiB.',
  columns: COLUMNS,
  run,
};

export const groups = [inserting];
