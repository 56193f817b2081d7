/** The shortest row store passes the contracts of worker IDs, counters, and locks. */
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, afterAll } from '@jest/globals';
import { RowCounters } from '../../lib/counters/row-counters.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { RegistrySupport } from '../../lib/registry/registry-support.js';
import { MemoryRows, MemorySupport } from '../../lib/stores/memory/index.js';
import {
  describeCounterStore,
  describeDistributedSupport,
  describeLockStore,
  SettableTime,
} from '../../lib/testing/index.js';
import { HEADER_KEY, type RowWrite } from '../../lib/rows/row-store.js';
import { MemoryRegistry } from '../models/memory-registry.js';
import { MapStore } from '../registry/walk-store.js';
import { mapStore, memoryStore } from './settable-stores.js';
import { FolderFiles } from '../../lib/stores/host/folder-files.js';
import { FolderStore } from '../../lib/stores/host/folder-store.js';
import { folderSupport } from '../../lib/stores/host/index.js';
import { quickFolder } from '../support/made-once.mjs';

describe('a Map under RegistrySupport', () => {
  describeDistributedSupport({
    test: it,
    expect,
    ...mapStore((store) => new RegistrySupport(store)),
  });
});

describe('a Map under RowCounters', () => {
  const {
    createSupport: createStore,
    clockControl,
    lossControl,
  } = mapStore((store) => new RowCounters(store));
  describeCounterStore({ test: it, expect, createStore, clockControl, lossControl });
});

describe('a Map under RowLocks', () => {
  const {
    createSupport: createStore,
    clockControl,
    lossControl,
  } = mapStore((store) => new RowLocks(store));
  const leaveOut = ['untilReleased'] as const;
  describeLockStore({ test: it, expect, createStore, clockControl, lossControl, leaveOut });
});

describe('the reference registry of the tests', () => {
  describeDistributedSupport({ test: it, expect, ...memoryStore(MemoryRegistry) });
});

// Rows in memory pass all three contracts, including losses and failovers.

describe('MemoryRows', () => {
  const clock = new SettableTime();
  const stores = new Map<string, MemoryRows>();
  const copies = new Map<string, MemoryRows['rows']>();
  const rowsOf = (name: string) => {
    const rows = stores.get(name) ?? new MemoryRows(clock);
    stores.set(name, rows);
    return rows;
  };
  const restart = (name: string) => void (rowsOf(name).server += '+');
  const setVersion = (name: string, version: string) => {
    const { rows } = rowsOf(name);
    const header = rows.get(HEADER_KEY)!;
    const text = JSON.stringify({ ...JSON.parse(header.text), version });
    rows.set(HEADER_KEY, { ...header, text });
  };
  const clockControl = {
    now: () => clock.now(),
    advance: (ms: number) => void (clock.wallMs += ms),
  };
  const controls = {
    clockControl,
    lossControl: {
      wipe: (name: string) => rowsOf(name).rows.clear(),
      restart,
      remember: (name: string) => void copies.set(name, new Map(rowsOf(name).rows)),
      restore(name: string) {
        rowsOf(name).rows = new Map(copies.get(name));
        restart(name);
      },
    },
  };

  describe('under RegistrySupport', () => {
    describeDistributedSupport({
      test: it,
      expect,
      ...controls,
      createSupport: (name) => new RegistrySupport(rowsOf(name)),
      versionControl: {
        raise: (name) => setVersion(name, '3'),
        lower: (name) => setVersion(name, '2'),
      },
    });
  });

  describe('under RowCounters', () => {
    const createStore = (name: string) => new RowCounters(rowsOf(name));
    describeCounterStore({ test: it, expect, ...controls, createStore });
  });

  describe('under RowLocks', () => {
    const createStore = (name: string) => new RowLocks(rowsOf(name));
    const leaveOut = ['untilReleased'] as const;
    describeLockStore({ test: it, expect, ...controls, createStore, leaveOut });
  });

  describe('under MemorySupport, whose registry starts empty', () => {
    describeDistributedSupport({
      test: it,
      expect,
      clockControl,
      createSupport: (name) => new MemorySupport({ rows: rowsOf(`memory ${name}`) }),
      leaveOut: ['losses', 'version'],
    });
  });
});

/** Like a database that numbers all its writes from one sequence. */
class JumpingStore extends MapStore {
  override async write(write: RowWrite): Promise<boolean> {
    const isWritten = await super.write(write);
    for (const { row } of isWritten ? write.rows : []) {
      const stored = this.rows.get(row.key)!;
      this.rows.set(row.key, { ...stored, version: stored.version + 6 });
    }
    return isWritten;
  }
}

it('a store whose versions rise by more than one fails a case that names this rule', async () => {
  const cases = new Map<string, () => Promise<void>>();
  const test = (name: string, run: () => Promise<void>) => void cases.set(name, run);
  const store = new JumpingStore(() => ({ timeMs: Date.now(), server: 'server' }));
  const createSupport = () => new RegistrySupport(store);
  const leaveOut = ['clock', 'losses', 'version'] as const;
  describeDistributedSupport({ test, expect, createSupport, leaveOut });
  const run = cases.get('counts each renewal once, so that a holder notices one that is lost')!;
  await expect(run()).rejects.toThrow('each write raises the version of its row by exactly one');
});

describe('a suite without a control', () => {
  it('reports it before any test runs, unless the cases that need it are omitted', () => {
    const { createSupport } = memoryStore(MemoryRegistry);
    const describeIt = (leaveOut: ('clock' | 'losses' | 'version')[]) => () =>
      describeDistributedSupport({ test: () => undefined, expect, createSupport, leaveOut });
    expect(describeIt([])).toThrow('Expected `clockControl`, got nothing.');
    expect(describeIt(['clock'])).toThrow("say with `leaveOut: ['losses']`");
    expect(describeIt(['clock', 'losses'])).toThrow('Expected `versionControl`, got nothing.');
    expect(describeIt(['clock', 'losses', 'version'])).not.toThrow();
  });
});

// A folder passes the contract: once with the time and the boot of the host set by the test, and
// once as applications use it. Losses are real: the folder is deleted, or an older copy is
// restored.

// These tests exclude a loss of power, which folder-files.spec.ts covers.
const root = quickFolder('contract');
afterAll(() => rmSync(root, { recursive: true }));
const folderOf = (name: string) => join(root, name);
const copyOf = (name: string) => join(root, 'copies', name);
const remove = (folder: string) => rmSync(folder, { recursive: true, force: true });

/** As a later version of the package could have written it. */
async function setVersion(name: string, version: string): Promise<void> {
  const files = new FolderFiles(folderOf(name));
  const value = (await files.load())!;
  const state = JSON.parse(value.text);
  const header = state.rows.find((row: { key: string }) => row.key === HEADER_KEY);
  header.text = JSON.stringify({ ...JSON.parse(header.text), version });
  await files.replace(value, JSON.stringify(state));
}

describe('a folder with a test clock', () => {
  const clock = new SettableTime();
  const boots = new Map<string, number>();
  const storeOf = (name: string) =>
    new FolderStore(folderOf(name), { clock, bootOf: async () => `boot ${boots.get(name) ?? 0}` });
  const controls = {
    clockControl: { now: () => clock.now(), advance: (ms: number) => void (clock.wallMs += ms) },
    lossControl: {
      wipe: (name: string) => remove(folderOf(name)),
      restart: (name: string) => void boots.set(name, (boots.get(name) ?? 0) + 1),
      remember(name: string) {
        remove(copyOf(name));
        if (!existsSync(folderOf(name))) return;
        cpSync(folderOf(name), copyOf(name), { recursive: true, preserveTimestamps: true });
      },
      restore(name: string) {
        remove(folderOf(name));
        if (!existsSync(copyOf(name))) return;
        cpSync(copyOf(name), folderOf(name), { recursive: true, preserveTimestamps: true });
      },
    },
  };

  describe('under RegistrySupport', () => {
    describeDistributedSupport({
      test: it,
      expect,
      ...controls,
      createSupport: (name) => new RegistrySupport(storeOf(name)),
      versionControl: {
        raise: (name) => setVersion(name, '3'),
        lower: (name) => setVersion(name, '2'),
      },
    });
  });

  describe('under RowCounters', () => {
    const createStore = (name: string) => new RowCounters(storeOf(name));
    describeCounterStore({ test: it, expect, ...controls, createStore });
  });

  describe('under RowLocks', () => {
    const createStore = (name: string) => new RowLocks(storeOf(name));
    const leaveOut = ['untilReleased'] as const;
    describeLockStore({ test: it, expect, ...controls, createStore, leaveOut });
  });
});

describe('a folder', () => {
  describeDistributedSupport({
    // Each case waits for a quarantine by a real clock, so a few run at once.
    test: it.concurrent,
    expect,
    createSupport: (namespace) => folderSupport({ folder: join(root, 'real'), namespace }),
    leaveOut: ['clock', 'losses', 'version'],
  });
});
