/**
 * A folder with compare-and-swap. Errors of disks and files have clear messages and lose no data,
 * and a replaced folder is detected.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate as immediately } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { HEADER_KEY, type RowWrite } from '../../lib/rows/row-store.js';
import { folderError, FolderFiles } from '../../lib/stores/host/folder-files.js';
import { FolderStore } from '../../lib/stores/host/folder-store.js';
import { inspectorFromUrl, supportFromUrl } from '../../lib/stores/host/folder.support.js';
import { keptTimeIn, TIME_IS_KEPT } from '../registry/walk-store.js';
import { quickFolder } from '../support/made-once.mjs';
import { bundledScript } from '../support/builds.mjs';

describe('folder files', () => {
  let root: string;
  let folder: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'snowflake-folder-'));
    folder = join(root, 'var', 'shop');
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const statesIn = (path: string) => readdirSync(path).filter((name) => name.startsWith('state-'));
  /**
   * False without the right to mount. Those users only see that it is created in a missing folder.
   */
  const mounted = (path: string): boolean =>
    ran('mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path);
  /** With the options of old file systems on small disks. */
  const mountedOld = (disk: string, path: string): boolean =>
    ran('mkfs.ext4', '-q', '-I', '128', '-F', disk) && ran('mount', '-o', 'loop', disk, path);
  const ran = (command: string, ...args: string[]): boolean =>
    spawnSync(command, args).status === 0;
  const header = { key: HEADER_KEY, number: 0n, text: '{}' };

  /** A write of the header, based on the current one. */
  async function headerWrite(store: FolderStore): Promise<RowWrite> {
    const { server, rows } = await store.read({ keys: [HEADER_KEY] });
    const { version, number = 0n } = rows.find(({ key }) => key === HEADER_KEY) ?? {};
    return { server, headerVersion: version, headerNumber: number, header, rows: [] };
  }

  describe('a value in a folder', () => {
    it('is replaced by exactly one of its readers, without leftovers', async () => {
      const files = new FolderFiles(folder);
      await files.create('0');
      for (let round = 1; round <= 20; round++) {
        const value = (await files.load())!;
        const all = Array.from({ length: 8 }, (_, n) => files.replace(value, `${round} ${n}`));
        const done = await Promise.all(all);
        expect(done.filter(Boolean)).toHaveLength(1);
        expect((await files.load())!.text).toBe(`${round} ${done.findIndex(Boolean)}`);
      }
      const last = (await files.load())!;
      expect(await files.replace(last, 'the end')).toBeDefined();
      expect(readdirSync(folder)).toHaveLength(2);
    });

    it('is created once, whichever process comes first', async () => {
      const all = Array.from({ length: 8 }, (_, n) => new FolderFiles(folder).create(`${n}`));
      await Promise.all(all);
      expect(statesIn(folder)).toHaveLength(1);
      expect(readdirSync(join(root, 'var'))).toEqual(['shop']);
    });

    it('is not replaced by a process that stalled while it was deleted and created again', async () => {
      const files = new FolderFiles(folder);
      await files.create('first');
      const seen = (await files.load())!;
      rmSync(folder, { recursive: true });
      await files.create('second');
      expect(await files.replace(seen, 'late')).toBeUndefined();
      expect((await files.load())!.text).toBe('second');
    });

    it('is a different value if a copy replaces it, including for a stalled process', async () => {
      const files = new FolderFiles(folder);
      await files.create('kept');
      const seen = (await files.load())!;
      const copy = join(root, 'copy');
      cpSync(folder, copy, { recursive: true, preserveTimestamps: true });
      rmSync(folder, { recursive: true });
      cpSync(copy, folder, { recursive: true, preserveTimestamps: true });
      expect((await files.load())!.identity).not.toBe(seen.identity);
      expect(await files.replace(seen, 'late')).toBeUndefined();
    });

    /**
     * Stops between the two steps of a replacement: the state is written, and no pointer names it.
     */
    async function halfReplaced() {
      const files = new FolderFiles(folder);
      await files.create('first');
      const value = (await files.load())!;
      const replaced = files.replace(value, 'second');
      const isOfSecond = (name: string) => name.startsWith(`state-${value.id}-`);
      while (!readdirSync(folder).some(isOfSecond)) await immediately();
      const [state = ''] = readdirSync(folder).filter(isOfSecond);
      return { files, value, replaced, state };
    }

    it('is whole if the folder is restored between the two steps of a stalled process', async () => {
      const { files, replaced, state } = await halfReplaced();
      // The older copy has the right pointer, but not the state written a moment ago.
      rmSync(join(folder, state));
      expect(await replaced).toBeDefined();
      expect((await files.load())!.text).toBe('second');
    });

    it('is whole if a file system reports a failure after it renamed the pointer', async () => {
      const { files, value, replaced, state } = await halfReplaced();
      // The coming rename no longer finds this name.
      const pointer = state.replace('state-', 'at-').replace('.json', '');
      renameSync(join(folder, `at-${value.name}`), join(folder, pointer));
      expect(await replaced).toBeUndefined();
      expect((await files.load())!.text).toBe('second');
    });

    it('leaves no files behind on a full disk', async () => {
      const disk = join(root, 'disk');
      mkdirSync(disk);
      const isSmall = mounted(disk);
      try {
        const files = new FolderFiles(join(disk, 'shop'));
        await files.create('first');
        const replaced = files.replace((await files.load())!, 'x'.repeat(100_000));
        const outcome = await replaced.then(
          (value) => value?.text ?? '',
          (error: unknown) => folderError(error, files.folder).message,
        );
        expect(outcome).toContain(isSmall ? 'The disk is full' : 'xxx');
        expect(statesIn(files.folder)).toHaveLength(1);
      } finally {
        if (isSmall) ran('umount', disk);
      }
    });

    it('survives a process that is killed between two of its steps', async () => {
      const files = new FolderFiles(folder);
      await files.create('first');
      const { id } = (await files.load())!;
      writeFileSync(join(folder, `state-${id}-${'b'.repeat(24)}.json`), 'half writ');
      expect((await files.load())!.text).toBe('first');
      expect(await files.replace((await files.load())!, 'second')).toBeDefined();
      expect(await files.replace((await files.load())!, 'third')).toBeDefined();
      expect(statesIn(folder)).toHaveLength(1);
    });

    it('is refused if its files are missing, duplicated, or written by another program', async () => {
      const files = new FolderFiles(folder);
      await files.create('{}');
      const pointer = readdirSync(folder).find((name) => name.startsWith('at-'))!;
      const hidden = join(root, pointer);
      renameSync(join(folder, pointer), hidden);
      const spoilt = { code: 'STORE_UNAVAILABLE', retryable: true };
      await expect(files.load()).rejects.toMatchObject(spoilt);
      renameSync(hidden, join(folder, pointer));
      writeFileSync(join(folder, `at-${'0'.repeat(24)}-${'a'.repeat(24)}`), '');
      await expect(files.load()).rejects.toMatchObject(spoilt);
      rmSync(join(folder, `at-${'0'.repeat(24)}-${'a'.repeat(24)}`));
      const store = new FolderStore(folder);
      await expect(store.read({ keys: [HEADER_KEY] })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        retryable: false,
        message: expect.stringContaining('its file is from something else') as unknown,
      });
    });

    it('leaves other files alone', async () => {
      const files = new FolderFiles(folder);
      await files.create('first');
      writeFileSync(join(folder, 'README'), 'by hand');
      for (const text of ['second', 'third']) await files.replace((await files.load())!, text);
      expect(existsSync(join(folder, 'README'))).toBe(true);
    });
  });

  describe('a registry in a folder', () => {
    it('accepts a write only for the server and versions that were read', async () => {
      const store = new FolderStore(folder);
      const write = await headerWrite(store);
      expect(await store.write({ ...write, server: 'another' })).toBe(false);
      expect(await store.write({ ...write, headerVersion: 1 })).toBe(false);
      expect(await store.write(write)).toBe(true);
      expect(await store.write(write)).toBe(false);
      const rebooted = new FolderStore(folder, { bootOf: async () => 'another run' });
      expect(await rebooted.write(await headerWrite(store))).toBe(false);
    });

    it('holds what another process wrote, even for a process with an older state', async () => {
      const [mine, other] = [new FolderStore(folder), new FolderStore(folder)];
      const asRead = await headerWrite(mine);
      expect(await other.write(await headerWrite(other))).toBe(true);
      expect(await mine.write(asRead)).toBe(false);
      expect(await mine.read({ keys: [HEADER_KEY] })).toMatchObject({
        rows: (await other.read({ keys: [HEADER_KEY] })).rows,
      });
      expect(await other.write(await headerWrite(mine))).toBe(true);
      expect(await mine.write(await headerWrite(mine))).toBe(true);
    });

    it('is a different registry if a copy replaces it, even for a process that read it before', async () => {
      const store = new FolderStore(folder);
      expect(await store.write(await headerWrite(store))).toBe(true);
      const asRead = await headerWrite(store);
      const copy = join(root, 'copy');
      cpSync(folder, copy, { recursive: true, preserveTimestamps: true });
      rmSync(folder, { recursive: true });
      cpSync(copy, folder, { recursive: true, preserveTimestamps: true });
      expect(await store.write(asRead)).toBe(false);
      expect((await store.read({ keys: [] })).server).not.toBe(asRead.server);
    });

    it('keeps the version of a header if only its time is new', () =>
      expect(keptTimeIn(new FolderStore(folder))).resolves.toEqual(TIME_IS_KEPT));

    it('starts at a version that no earlier header had', async () => {
      const store = new FolderStore(folder);
      const versions = [];
      for (let round = 0; round < 3; round++) {
        await store.write(await headerWrite(store));
        versions.push((await headerWrite(store)).headerVersion!);
        rmSync(folder, { recursive: true });
      }
      expect(new Set(versions).size).toBe(3);
      expect(Math.max(...versions)).toBeLessThan(Number.MAX_SAFE_INTEGER);
    });

    it('is created by a process that leases, not by one that reads', async () => {
      const inspector = await inspectorFromUrl(`file:${root}/looked?namespace=shop`);
      expect(await inspector.read()).toMatchObject({ isUnfinished: false, workers: [] });
      const findings = await inspector.findings();
      expect(findings.map(({ level, topic }) => `${level} ${topic}`)).toEqual([
        'ok disk',
        'note rights',
      ]);
      expect(existsSync(join(root, 'looked'))).toBe(false);
    });

    it('explains what is wrong with a path that is a file', async () => {
      writeFileSync(join(root, 'file'), '');
      const store = new FolderStore(join(root, 'file', 'shop'));
      await expect(store.read({ keys: [HEADER_KEY] })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        retryable: false,
        message: expect.stringContaining('Part of its path is a file') as unknown,
      });
    });

    it.each(['.gitkeep', 'lost+found', '.DS_Store'])(
      'is not created among foreign files, one of which the error names: %s',
      async (name) => {
        mkdirSync(folder, { recursive: true });
        writeFileSync(join(folder, name), '');
        const failing = new FolderStore(folder).read({ keys: [HEADER_KEY] });
        await expect(failing).rejects.toMatchObject({
          code: 'STORE_UNAVAILABLE',
          retryable: false,
          message: expect.stringContaining(
            `it holds ${name}, which is not of a registry`,
          ) as unknown,
        });
        expect(readdirSync(join(root, 'var'))).toEqual(['shop']);
      },
    );

    it('is not created in place of a symbolic link', async () => {
      const target = join(root, 'target');
      mkdirSync(target);
      mkdirSync(join(root, 'var'));
      symlinkSync(target, folder);
      const failing = new FolderStore(folder).read({ keys: [HEADER_KEY] });
      await expect(failing).rejects.toMatchObject({
        retryable: false,
        message: expect.stringContaining('Name the folder that it leads to') as unknown,
      });
    });

    it('is not created in place of a mount point', async () => {
      mkdirSync(folder, { recursive: true });
      const isMounted = mounted(folder);
      try {
        const failing = new FolderStore(folder).read({ keys: [HEADER_KEY] });
        if (!isMounted) return void (await failing);
        await expect(failing).rejects.toMatchObject({
          retryable: false,
          message: expect.stringContaining('Name a folder in it') as unknown,
        });
      } finally {
        if (isMounted) ran('umount', folder);
      }
    });

    it('warns about a file system without creation times', async () => {
      mkdirSync(folder, { recursive: true });
      const disk = join(root, 'disk');
      const isMounted = ran('truncate', '-s', '8M', disk) && mountedOld(disk, folder);
      try {
        const store = new FolderStore(join(folder, 'registry'));
        await store.read({ keys: [HEADER_KEY] });
        const isSaid = (await store.advice()).some((text) => text.includes('no times of creation'));
        expect(isSaid).toBe(isMounted);
      } finally {
        if (isMounted) ran('umount', folder);
      }
    });

    it.each([
      ['ENOSPC', 'The disk is full', true],
      ['EFBIG', 'ulimit -f', true],
      ['EROFS', 'mounted read-only', true],
      ['EACCES', 'This user may not write there', true],
      ['ENOTDIR', 'Part of its path is a file', false],
      ['EWHATEVER', 'what it said', true],
    ])('names the cure for %s', (code, said, retryable) => {
      const error = folderError(Object.assign(new Error('what it said'), { code }), '/x');
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable });
      expect(error.message).toContain(said);
    });
  });

  describe('the URL of a folder', () => {
    it.each([
      ['file:/var/lib/a%20b', '/var/lib/a b/default'],
      ['FILE:///var/lib/x?namespace=shop', '/var/lib/x/shop'],
      ['file:./var/x?namespace=shop', join(process.cwd(), 'var/x/shop')],
    ])('%s is %s', (url, location) => {
      expect(supportFromUrl(url).location).toBe(`the folder ${location}`);
    });

    it.each([
      'file:?namespace=x',
      'file:/x?prefix=a',
      'file:/x?namespace=..%2Fy',
      'file:/x?namespace=a&namespace=b',
      'file:/x?namespace=',
      'file://host/share',
      'file:/x%',
      'file:/x?password=hunter2',
    ])('%s is refused', (url) => {
      expect(() => supportFromUrl(url)).toThrow(
        expect.objectContaining({ code: 'CONFIG_INVALID' }),
      );
      expect(() => supportFromUrl(url)).not.toThrow('hunter2');
    });
  });
});

/*
 * Real processes on one folder lease, renew and are killed. They create no duplicate ID, even after
 * a restart with the clock set back. A fixed number in the same test creates duplicates.
 */
describe('folder processes', () => {
  const PROCESS_COUNT = 8;
  const START_COUNT = 16;
  const LINES_OF_EACH = 40;

  interface Terms {
    readonly folder?: string;
    readonly workerId?: number;
    readonly fromMs?: number;
  }

  const root = quickFolder('processes');
  const running = new Set<ChildProcess>();
  let script: string;
  beforeAll(async () => {
    script = await bundledScript('support/worker.mjs');
  }, 300_000);
  afterAll(() => {
    for (const child of running) child.kill('SIGKILL');
    rmSync(root, { recursive: true });
  });

  /**
   * Runs until it has printed the given count of lines, then ends it. An incomplete last line is no
   * ID.
   */
  async function idsOf(terms: Terms, signal: NodeJS.Signals): Promise<string[]> {
    const WORKER = JSON.stringify({ does: 'ids of a folder', ...terms });
    const env = { ...process.env, WORKER, NODE_ENV: 'test' };
    const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    running.add(child);
    let said = '';
    child.stderr.on('data', (text: Buffer) => (said += text.toString()));
    const lines: string[] = [];
    const ended = once(child, 'exit');
    for await (const line of createInterface(child.stdout)) {
      if (/^[\d ]+$/.test(line)) lines.push(line);
      if (lines.length === LINES_OF_EACH) child.kill(signal);
    }
    await ended;
    running.delete(child);
    if (lines.length < LINES_OF_EACH) throw new Error(`A process ended by itself:\n${said}`);
    return lines.flatMap((line) => line.split(' ').filter((id) => /^\d{17,19}$/.test(id)));
  }

  function twiceIn(ids: readonly string[]): number {
    return ids.length - new Set(ids).size;
  }

  describe('processes that share one folder', () => {
    it('issue no duplicate when some are killed', async () => {
      const all: string[] = [];
      let startCount = 0;
      const location = async () => {
        while (startCount < START_COUNT) {
          const signal = startCount++ % 2 === 0 ? 'SIGKILL' : 'SIGTERM';
          for (const id of await idsOf({ folder: join(root, 'many') }, signal)) all.push(id);
        }
      };
      await Promise.all(Array.from({ length: PROCESS_COUNT }, location));
      expect(startCount).toBe(START_COUNT);
      expect(all.length).toBeGreaterThan(START_COUNT * LINES_OF_EACH * 15);
      expect(twiceIn(all)).toBe(0);
    }, 300_000);

    it.each([
      ['the first start', 0],
      ['an hour before this', 3_600_000],
    ])(
      'generate no duplicate ID after a restart with the clock set back to %s',
      async (_, backMs) => {
        const fromMs = Date.now();
        const terms = { folder: join(root, `back ${backMs}`), workerId: 3 };
        const first = await idsOf({ ...terms, fromMs }, 'SIGKILL');
        const second = await idsOf({ ...terms, fromMs: fromMs - backMs }, 'SIGKILL');
        expect(twiceIn([...first, ...second])).toBe(0);
        const latest = first.map(BigInt).reduce((a, b) => (a > b ? a : b));
        expect(second.filter((id) => BigInt(id) <= latest)).toEqual([]);
      },
      120_000,
    );

    it('would issue duplicates with a fixed number', async () => {
      const terms = { workerId: 3, fromMs: Date.now() };
      const ids = [...(await idsOf(terms, 'SIGKILL')), ...(await idsOf(terms, 'SIGKILL'))];
      expect(twiceIn(ids)).toBeGreaterThan(0);
    }, 120_000);
  });
});
