/**
 * An SQLite file is identified by all of its parts. Restored rows count as a loss, however they
 * were restored. A file with different newest rows for other processes is refused.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import Database from 'libsql';
import { registryTable, seriesTable, sqliteSupport } from '../../lib/stores/sql/index.js';
import { sqliteHandle } from '../../lib/stores/sql/dialects/sqlite-file.js';
import { supportFromUrl } from '../../lib/stores/sql/sql.support.js';
import { OF_SERVERS, REFUSALS } from '../package/consumers/sqlite/refusals.mjs';
import { bundledScript } from '../support/builds.mjs';
import { failureOf, request, until } from './redis-lab.js';

let folder: string;
let path: string;
const opened: InstanceType<typeof Database>[] = [];

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'sqlite-file-')), 'var');
  mkdirSync(folder);
  path = join(folder, 'shop.db');
});
afterEach(() => {
  for (const database of opened.splice(0)) database.close();
  rmSync(dirname(folder), { recursive: true });
});

function open(file = path, mode = 'WAL') {
  const database = new Database(file);
  opened.push(database);
  database.exec(`PRAGMA journal_mode = ${mode}`);
  database.exec(registryTable('sqlite'));
  return sqliteSupport({ database });
}

/** Stops all processes cleanly, which moves the newest rows into the file. */
function closeAll(): void {
  for (const database of opened.splice(0)) {
    toFile(database);
    database.close();
  }
}

function toFile(database: InstanceType<typeof Database>): void {
  database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').all();
}

let ttlMs = 0;
/** The registry in the file for a new process, whose longer lease causes a write. */
async function found(support = open()) {
  const { mark } = await support.getNextWorkId(request({ ttlMs: ++ttlMs }));
  return { server: mark!.server, lineage: mark!.lineage };
}

const marks = () => readdirSync(folder).filter((name) => /-[tn]\d+$/.test(name));
/** Changes the mark as if there had been more or fewer writes. */
function moveMark(by: bigint): void {
  const [, kept, count] = /^(.*-[tn])(\d+)$/.exec(marks()[0]!)!;
  renameSync(join(folder, `${kept}${count}`), join(folder, `${kept}${BigInt(count!) + by}`));
}

describe.each(['WAL', 'DELETE'])('a SQLite file in journal mode %s', (mode) => {
  const openIn = () => open(path, mode);

  it('is the same for all processes, even after a restart, and has one mark', async () => {
    const first = await found(openIn());
    expect(await found(openIn())).toEqual(first);
    closeAll();
    expect(await found(openIn())).toEqual(first);
    expect(marks().length).toBe(1);
  });

  const copy = () => join(dirname(folder), 'copy');
  it.each([
    ['the file copied over', () => copyFileSync(join(copy(), 'shop.db'), path)],
    [
      'the folder copied over, with all times',
      () => cpSync(copy(), folder, { recursive: true, preserveTimestamps: true }),
    ],
    [
      'the folder replaced',
      () => {
        rmSync(folder, { recursive: true });
        cpSync(copy(), folder, { recursive: true, preserveTimestamps: true });
      },
    ],
    [
      'the file moved',
      () => {
        renameSync(join(copy(), 'shop.db'), path);
      },
    ],
  ])('counts an older state put in its place as a loss: %s', async (_, putBack) => {
    const first = await found(openIn());
    closeAll();
    cpSync(folder, copy(), { recursive: true, preserveTimestamps: true });
    await found(openIn());
    closeAll();
    putBack();
    const later = await found(openIn());
    expect(later.server).not.toBe(first.server);
    expect(later.lineage).not.toBe(first.lineage);
    expect(marks().length).toBe(1);
  });

  it('loses nothing if a process ends between its commit and the mark', async () => {
    const first = await found(openIn());
    closeAll();
    moveMark(-1n);
    expect(await found(openIn())).toEqual(first);
  });

  it('counts a copied mark as a loss, however recent', async () => {
    const first = await found(openIn());
    closeAll();
    const mark = join(folder, marks()[0]!);
    rmSync(mark);
    writeFileSync(mark, '');
    expect((await found(openIn())).server).not.toBe(first.server);
  });

  it.each([-2n, 1n])('counts as a loss if the mark is %i writes off', async (by) => {
    const first = await found(openIn());
    closeAll();
    moveMark(by);
    expect((await found(openIn())).server).not.toBe(first.server);
  });

  it('is refused while it has a second name', async () => {
    const support = openIn();
    await found(support);
    linkSync(path, join(dirname(folder), 'linked.db'));
    const failure = await failureOf(support.getNextWorkId(request()));
    expect(failure.message).toContain('second name');
    rmSync(join(dirname(folder), 'linked.db'));
    await found(support);
  });
});

it.each(['mariadb', undefined, 'toString'])('no table is written for the dialect %p', (dialect) => {
  for (const table of [registryTable, seriesTable]) {
    expect(() => table(dialect as never)).toThrow("one of 'postgres', 'mysql', 'sqlite', got");
  }
});

describe('an open file', () => {
  it('counts a copy over it as a loss if its newest rows are inside', async () => {
    const support = open(path, 'DELETE');
    const first = await found(support);
    copyFileSync(path, join(dirname(folder), 'old.db'));
    await found(support);
    copyFileSync(join(dirname(folder), 'old.db'), path);
    expect((await found(support)).server).not.toBe(first.server);
  });
});

describe('two files that keep their newest rows apart', () => {
  it('detect it by the mark if the -wal was deleted while one had it open', async () => {
    const support = open();
    const first = await found(support);
    toFile(opened[0]!);
    rmSync(`${path}-wal`);
    rmSync(`${path}-shm`);
    const before = marks();
    const program = await bundledScript('support/worker.mjs');
    const WORKER = JSON.stringify({ does: 'ids of a store', support: `sqlite:${path}` });
    const env = { ...process.env, WORKER, NODE_ENV: 'test' };
    const other = spawn(process.execPath, [program], {
      env,
      stdio: ['ignore', 'ignore', 'ignore', 'ignore'],
    });
    await until(async () => marks()[0] !== before[0]);
    other.kill('SIGKILL');
    await once(other, 'exit');
    expect((await found(support)).server).not.toBe(first.server);
  });
});

describe('a file mounted alone', () => {
  it('is refused, since its newest rows are not mounted with it', async () => {
    open();
    closeAll();
    const inside = join(dirname(folder), 'inside', 'app.db');
    const program = await bundledScript('support/worker.mjs');
    const script =
      'mkdir -p "$(dirname "$2")" && : > "$2" && mount --bind "$1" "$2" && exec "$4" "$3"';
    const WORKER = JSON.stringify({ does: 'ids of a store', support: `sqlite:${inside}` });
    const { stdout, stderr } = spawnSync(
      'unshare',
      [
        '--user',
        '--map-root-user',
        '--mount',
        'sh',
        '-c',
        script,
        'sh',
        path,
        inside,
        program,
        process.execPath,
      ],
      { encoding: 'utf8', env: { ...process.env, WORKER, NODE_ENV: 'test' } },
    );
    expect(`${stdout}${stderr}`).toContain('mounted alone');
  });
});

describe('a file with other writers', () => {
  it('is not locked by a read that found it locked', async () => {
    const [own, other] = [new Database(path), new Database(path)];
    opened.push(own, other);
    own.exec('CREATE TABLE written (number int)');
    const { query } = sqliteHandle(own);
    const read = () => query('SELECT count(*) AS rows FROM written', []);
    other.exec('BEGIN EXCLUSIVE');
    await expect(read()).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
    other.exec('COMMIT');
    await read();
    other.exec('INSERT INTO written VALUES (1)');
    expect(await read()).toEqual([{ rows: 1 }]);
  });
});

describe('a file that is refused', () => {
  const openAll: Database.Database[] = [];
  afterEach(() => openAll.splice(0).forEach((database) => database.close()));
  const open = (path: string) => {
    const database = new Database(path, { timeout: 20 });
    openAll.push(database);
    return database;
  };

  it.each(REFUSALS.map(([refusal, words, make], at) => ({ at, refusal, words, make })))(
    'has the same message with libsql: $refusal ($at)',
    async ({ refusal, words, make }) => {
      const refusing = make({ folder, open, table: registryTable('sqlite') });
      const support =
        'path' in refusing
          ? supportFromUrl(`sqlite:${refusing.path}`)
          : sqliteSupport({ database: refusing.database as Database.Database });
      const { message, details } = await failureOf(support.getNextWorkId(request()));
      expect({ refusal: details['refusal'], message }).toEqual({
        refusal,
        message: expect.stringMatching(words) as unknown,
      });
      expect(message.replace(folder, '')).not.toMatch(OF_SERVERS);
    },
  );
});

describe('a host that refuses statx', () => {
  it('is refused a file whose mark has a creation time from another host', async () => {
    await found(open());
    closeAll();
    const actual = await import('node:fs');
    const untimed = (stats: object | undefined) =>
      stats && Object.assign(stats, { birthtimeNs: (stats as { ctimeNs: bigint }).ctimeNs });
    const statSync = (...given: Parameters<typeof actual.statSync>) =>
      untimed(actual.statSync(...given));
    jest.unstable_mockModule('node:fs', () => ({ ...actual, statSync }));
    jest.resetModules();
    const there = await import('../../lib/stores/sql/dialects/sqlite-file.js');
    const database = new Database(path);
    opened.push(database);
    const { query } = there.sqliteHandle(database);
    const asked = query(`SELECT ${there.identityFor('snowflake_registry')} AS server`, []);
    await expect(asked).rejects.toThrow('Allow the system call statx');
  });
});
