/** A registry in files of this host under attack: in a folder, and in SQLite. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
  copyFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import { until, forgetLease, storeFault, isRemoved, STORE_PACE } from '../fault.mjs';
import { CREATE, TABLE } from './postgres.mjs';

// As root, a small file system that the fault fills. Otherwise the fault makes a folder read-only.

const DISK_BYTES = 2 ** 20;
/** How long no write works. A lease lasts 10 s. */
const FULL_MS = 4000;

class SmallDisk {
  constructor(/** @type {string} */ path) {
    this.path = path;
    mkdirSync(path, { recursive: true });
  }

  /** @returns the full disk of this machine */
  mount() {
    const size = `size=${DISK_BYTES}`;
    const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'tmpfs', this.path]);
    this.isMounted = mounted.status === 0;
    return this.isMounted
      ? 'disk full: a file system of 1 MiB, filled'
      : 'disk full: the folder read-only, since nothing may be mounted';
  }

  /** Waits until writes fail because of the disk. */
  async fill(/** @type {string} */ folder) {
    if (!this.isMounted) {
      chmodSync(folder, 0o555);
      await sleep(FULL_MS);
      chmodSync(folder, 0o755);
      return;
    }
    const filler = join(this.path, 'filler');
    for (const endMs = performance.now() + FULL_MS; performance.now() < endMs; await sleep(50)) {
      fillUp(filler);
    }
    rmSync(filler);
  }

  unmount() {
    if (this.isMounted) spawnSync('umount', ['-l', this.path]);
  }
}

// A registry in a folder of this host under attack. The host's clock is the store's clock, and the
// same for all processes.

const POINTER = /^at-(.*)$/;

const removed = (/** @type {string} */ path) =>
  rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 5 });

/** Changes the rows of the registry without notice to its users. */
const without = (/** @type {(row: { workerId: number }) => boolean} */ isGone) =>
  storeEdit((rows) => rows.filter((row) => !isGone(row)));

const storeEdit =
  (/** @type {(rows: any[]) => any[]} */ change) => (/** @type {Folder} */ topology) => {
    for (let count = 0; count < 100; count++) if (topology.edit(change)) return true;
    return false;
  };

export const FOLDER_FAULTS = [
  storeFault('folder from an old copy', (topology, world) =>
    forgetLease(world, { keep: () => topology.backup(), forget: () => topology.restore() }),
  ),
  storeFault('folder copied over', async (topology) => {
    await topology.backup();
    await sleep(1500);
    // The library refuses two registries in one folder, and advises the operator to delete it.
    cpSync(topology.copy, topology.registry, { recursive: true });
    await sleep(1500);
    removed(topology.registry);
  }),
  storeFault(
    'folder rows deleted',
    without(({ workerId }) => workerId >= 0),
  ),
  storeFault(
    'folder header deleted',
    without(({ workerId }) => workerId < 0),
  ),
  storeFault('folder deleted', ({ registry }) => removed(registry)),
  storeFault('folder disk full', ({ disk, registry }) => disk.fill(registry)),
];

export class Folder {
  name = 'file';
  quarantineMs = 0;
  pace = STORE_PACE;
  hasOneClock = true;
  faults = FOLDER_FAULTS;

  constructor(/** @type {string} */ folder) {
    this.disk = new SmallDisk(join(folder, 'disk'));
    this.registry = join(this.disk.path, 'var', 'chaos');
    this.copy = join(folder, 'copy');
  }

  async start() {
    this.note = this.disk.mount();
    return `file:${join(this.disk.path, 'var')}?namespace=chaos`;
  }

  /** A copy from a moment at which the registry was whole. */
  backup() {
    return until(async () => {
      removed(this.copy);
      cpSync(this.registry, this.copy, { recursive: true });
      return rowsIn(this.copy) !== undefined;
    }, 60_000);
  }

  restore() {
    const fresh = `${this.registry}.restored`;
    cpSync(this.copy, fresh, { recursive: true });
    renameSync(this.registry, `${this.registry}.lost`);
    renameSync(fresh, this.registry);
    removed(`${this.registry}.lost`);
  }

  /**
   * @param {(rows: any[]) => any[]} change @returns whether no other process wrote in the meantime
   */
  edit(change) {
    const found = rowsIn(this.registry);
    if (found === undefined || found.rows.length === 0) return false;
    const { state, kept, rows } = found;
    const fresh = join(this.disk.path, 'edited');
    writeFileSync(fresh, JSON.stringify({ ...kept, rows: change(rows) }));
    if (!readdirSync(this.registry).includes(found.pointer)) return false;
    renameSync(fresh, join(this.registry, state));
    return readdirSync(this.registry).includes(found.pointer);
  }

  async stop() {
    this.disk.unmount();
  }
}

/** The registry in a folder, unless a process is changing it. */
function rowsIn(/** @type {string} */ folder) {
  try {
    const names = readdirSync(folder);
    const [pointer, ...more] = names.filter((name) => POINTER.test(name));
    if (pointer === undefined || more.length > 0) return undefined;
    const state = pointer.replace(POINTER, 'state-$1.json');
    const { rows, ...kept } = JSON.parse(readFileSync(join(folder, state), 'utf8'));
    return { pointer, state, kept, rows };
  } catch {
    // See above.
    return undefined;
  }
}

function fillUp(/** @type {string} */ path) {
  const file = openSync(path, 'a');
  try {
    for (const size of [2 ** 14, 2 ** 9, 1]) {
      for (;;) writeSync(file, Buffer.alloc(size));
    }
  } catch (error) {
    if (/** @type {any} */ (error).code !== 'ENOSPC') throw error;
  } finally {
    closeSync(file);
  }
}

// A registry in an SQLite file under attack. The host's clock is the store's clock.

/** The time of an attempt, in which no process is resumed, and of all attempts. */
const [BUSY_MS, TURN_MS_MAX] = [1000, 60_000];

export const SQLITE_FAULTS = [
  storeFault('sqlite file replaced', (topology, world) =>
    topology.forgetful(world, {
      keep: () => topology.copied(topology.file, topology.copy),
      forget: () => renameSync(topology.copy, topology.file),
    }),
  ),
  storeFault('sqlite rows deleted', (topology) =>
    isRemoved(async () => (await topology.sql(`DELETE FROM ${topology.table}`)).changes),
  ),
  storeFault('sqlite disk full', ({ disk }) => disk.fill(disk.path)),
];

export class Sqlite {
  name = 'sqlite';
  create = CREATE;
  table = TABLE;
  terms = '';
  quarantineMs = 0;
  pace = STORE_PACE;
  hasOneClock = true;
  faults = SQLITE_FAULTS;
  forgetful = forgetLease;

  constructor(/** @type {string} */ folder) {
    this.disk = new SmallDisk(join(folder, 'disk'));
    this.file = join(this.disk.path, 'registry.db');
    this.copy = `${this.file}.old`;
  }

  async start() {
    this.note = this.disk.mount();
    await this.sql(this.create);
    return `sqlite:${this.file}?namespace=chaos${this.terms}`;
  }

  /** One statement of the operator. */
  sql(/** @type {string} */ text) {
    return this.#opened((database) => database.prepare(text).run());
  }

  /** Reads and writes stop here, so that a process paused after this holds no lock on the file. */
  async hold() {
    this.held = await this.#opened((database) => database.exec('BEGIN EXCLUSIVE'), true);
  }

  async copied(/** @type {string} */ from, /** @type {string} */ to) {
    if (this.held === undefined) await this.hold();
    copyFileSync(from, to);
    this.held.exec('ROLLBACK');
    this.held.close();
    this.held = undefined;
  }

  /**
   * Tries again if another process locks the file. That process may need to resume first.
   * @param {(database: any) => any} run @param {boolean} isKept @returns the handle, or the result
   */
  async #opened(run, isKept = false) {
    const endMs = performance.now() + TURN_MS_MAX;
    for (;;) {
      const database = new Database(this.file, { timeout: BUSY_MS });
      let isOpen = false;
      try {
        const answer = run(database);
        isOpen = isKept;
        return isKept ? database : answer;
      } catch (error) {
        const isBusy = String(/** @type {any} */ (error).code).startsWith('SQLITE_BUSY');
        if (!isBusy || performance.now() > endMs) throw error;
      } finally {
        if (!isOpen) database.close();
      }
      await sleep(50);
    }
  }

  async stop() {
    this.disk.unmount();
    rmSync(this.file, { force: true });
  }
}
