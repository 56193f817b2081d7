/**
 * A folder that holds one value at a time, replaced by compare-and-swap without a lock. Its steps
 * share one file, because each depends on the names that the others leave.
 *
 * at-<before>-<id>           an empty file, renamed with every step: its name is the pointer
 * state-<before>-<id>.json   the value, written whole and flushed before it is pointed at
 *
 * Guarantee: rename(2) finds its source once, so only one of the processes that saw a value
 * replaces it. A killed process leaves at most a file that no pointer names.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, type BigIntStats } from 'node:fs';
import {
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  statfs,
  unlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '../../core/clock.js';
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { errorText, formatName } from '../../messages.js';

export interface FolderValue {
  readonly text: string;
  /** Random, so that no two values have the same. */
  readonly id: string;
  /** The common suffix of the names of its two files. */
  readonly name: string;
  /**
   * The inode and creation time of the pointer: every rename keeps them, and no copy has them.
   */
  readonly identity: string;
  /**
   * True if this process cannot read the creation time, which is then 0: a copy may get a reused
   * inode.
   */
  readonly isTimeless: boolean;
}

/** Returns the facts of a file as this host shows them. */
export type Seen = (
  stats: BigIntStats,
) => Pick<BigIntStats, 'ino' | 'birthtimeNs' | 'ctimeNs' | 'mtimeNs'>;

type KnownValue = Pick<FolderValue, 'name' | 'text'>;

const POINTER = /^at-((?:[0-9a-f]{24})-([0-9a-f]{24}))$/;
const STATE = /^state-([0-9a-f]{24})-([0-9a-f]{24})\.json$/;
const NOTHING_BEFORE = '0'.repeat(24);
/**
 * A listing may miss a name while it changes, and a file may be gone a moment after it was named.
 */
const TRY_COUNT = 100;
/** Enough for the clock of most file systems to tick, which takes up to 10 ms. */
const CHANGE_COUNT_MAX = 20_000;
/**
 * A host whose clock differs more from the file system's clock, which all hosts share, may not
 * write.
 */
const CLOCK_MS_MAX = 60_000;

const isOurs = (name: string) => POINTER.test(name) || STATE.test(name);
const newId = () => randomBytes(12).toString('hex');

/** Its errors are those of the file system, which folderError() explains, or explained already. */
export class FolderFiles {
  private keepsTimes: boolean | undefined;

  /** @param seen tests replace it */
  constructor(
    readonly folder: string,
    private readonly seen: Seen = (stats) => stats,
  ) {}

  /**
   * Undefined if there is no value.
   * @param known is not read again if it is still the value, because the text of a name never
   * changes
   * @throws SnowflakeError STORE_UNAVAILABLE
   */
  async load(known?: KnownValue): Promise<FolderValue | undefined> {
    for (let count = 0; count < TRY_COUNT; count++) {
      const names = await this.names();
      if (!names.some(isOurs)) return undefined;
      const value = await this.valueIn(names, known);
      if (value !== undefined) return value;
    }
    throw spoilt(this.folder);
  }

  /** Writes the first value; if another process was faster, its value stays. */
  async create(text: string): Promise<void> {
    const parent = dirname(this.folder);
    await makeFolder(parent);
    const fresh = await mkdtemp(join(parent, '.new-'));
    try {
      await this.publish(fresh, text);
    } finally {
      await rm(fresh, { recursive: true, force: true });
    }
    await flushed(parent);
  }

  /**
   * Returns the new value. If another value or a copy has taken its place, returns undefined and
   * writes nothing.
   */
  async replace(value: FolderValue, text: string): Promise<FolderValue | undefined> {
    const id = newId();
    const name = `${value.id}-${id}`;
    const state = join(this.folder, `state-${name}.json`);
    try {
      const fromMs = systemClock.now();
      const { mtimeNs } = this.seen(await written(state, text));
      const aheadMs = outside(fromMs, Number(mtimeNs / 1_000_000n), systemClock.now());
      if (Math.abs(aheadMs) > CLOCK_MS_MAX) throw otherClock(this.folder, aheadMs);
      await rename(join(this.folder, `at-${value.name}`), join(this.folder, `at-${name}`));
    } catch (error) {
      // The state stays for the next sweep: if a file system repeats a call, it may report a
      // failure although the pointer was renamed.
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
    await flushed(this.folder);
    const names = await this.names();
    // An older copy of the folder was restored after the state was written, and lacks it.
    if (!names.includes(basename(state))) {
      await written(state, text).catch((error: unknown) => {
        // The folder is gone, or another process that saw this has created it again.
        if (!['ENOENT', 'EEXIST'].includes(codeOf(error))) throw error;
      });
    }
    const now = await this.load({ name, text });
    if (now !== undefined) await this.sweep(names, now);
    // A copy that replaced the folder since the read has the same names, but another identity.
    return now?.identity === value.identity ? { ...value, id, name, text } : undefined;
  }

  /** All file names, including foreign ones; empty if there is no folder. */
  async names(): Promise<string[]> {
    try {
      return await readdir(this.folder);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return [];
      throw error;
    }
  }

  private async publish(fresh: string, text: string): Promise<void> {
    const name = `${NOTHING_BEFORE}-${newId()}`;
    await written(join(fresh, `state-${name}.json`), text);
    await written(join(fresh, `at-${name}`), '');
    await flushed(fresh);
    try {
      await rename(fresh, this.folder);
    } catch (error) {
      await this.refuse(codeOf(error));
      // rename(2) does not replace a folder that is not empty.
      if (!['ENOTEMPTY', 'EEXIST'].includes(codeOf(error))) throw error;
    }
  }

  /** Some causes are permanent, so a retry would never end. */
  private async refuse(code: string): Promise<void> {
    if (code === 'EBUSY') {
      throw notMade(this.folder, 'it is a mount point, which stays. Name a folder in it.');
    }
    const isLink = code === 'ENOTDIR' && (await lstat(this.folder)).isSymbolicLink();
    if (isLink) {
      throw notMade(this.folder, 'it is a symbolic link. Name the folder that it leads to.');
    }
    const [first, ...more] = await this.names();
    if (first === undefined || [first, ...more].some(isOurs)) return;
    const others = more.length === 0 ? '' : ` and ${more.length} more`;
    const reason =
      `it holds ${formatName(first)}${others}, which is not of a registry. Name a folder of its ` +
      `own, or remove it.`;
    throw notMade(this.folder, reason);
  }

  /** Undefined if the files have changed since the listing, or are incomplete. */
  private async valueIn(
    names: readonly string[],
    known: KnownValue | undefined,
  ): Promise<FolderValue | undefined> {
    const pointers = names.map((name) => POINTER.exec(name)).filter((match) => match !== null);
    const [, name, id] = pointers[0] ?? [];
    if (pointers.length !== 1 || name === undefined || id === undefined) return undefined;
    try {
      const state = join(this.folder, `state-${name}.json`);
      const text = name === known?.name ? known.text : await readFile(state, 'utf8');
      const found = this.seen(await stat(join(this.folder, `at-${name}`), { bigint: true }));
      const bornNs = await this.keptTimeOf(found);
      return { text, id, name, identity: `${found.ino}.${bornNs}`, isTimeless: bornNs === 0n };
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  /** Without statx, libuv reports the time of the last change, which every rename moves. */
  private async keptTimeOf({ birthtimeNs, ctimeNs }: ReturnType<Seen>): Promise<bigint> {
    if (birthtimeNs !== ctimeNs) return birthtimeNs;
    // A new file also has equal times. A process without write access assumes that they are kept.
    this.keepsTimes ??= await this.tryTimes().catch(() => undefined);
    return this.keepsTimes === false ? 0n : birthtimeNs;
  }

  /** True if a later change of a file keeps its creation time. */
  private async tryTimes(): Promise<boolean> {
    const path = join(this.folder, `state-${newId()}-${newId()}.json`);
    const file = await open(path, 'wx');
    try {
      const made = this.seen(await file.stat({ bigint: true }));
      for (let count = 0; count < CHANGE_COUNT_MAX; count++) {
        await file.utimes(0, 0);
        const { birthtimeNs, ctimeNs } = this.seen(await file.stat({ bigint: true }));
        if (ctimeNs !== made.ctimeNs) return birthtimeNs === made.birthtimeNs;
      }
      return false;
    } finally {
      await file.close();
      // The next step sweeps leftovers, and may already have done so.
      await unlink(path).catch(() => undefined);
    }
  }

  /**
   * A state may be deleted if it was there before the pointer was read and follows another value. A
   * process saw that value as the current one, so it is no longer current, and the state can never
   * become current.
   */
  private async sweep(names: readonly string[], now: FolderValue): Promise<void> {
    for (const name of names) {
      const [, before, id] = STATE.exec(name) ?? [];
      if (before === undefined || before === now.id || id === now.id) continue;
      // The next sweep deletes the rest.
      await unlink(join(this.folder, name)).catch(() => undefined);
    }
  }
}

/**
 * Creates missing parents one by one, because Node's `recursive` retries forever below /proc and
 * similar paths.
 */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return;
    const parent = dirname(folder);
    if (codeOf(error) !== 'ENOENT' || parent === folder) throw error;
    await makeFolder(parent);
    // A faster process may create the same folder.
    await mkdir(folder).catch((again: unknown) => {
      if (codeOf(again) !== 'EEXIST') throw again;
    });
  }
}

/** How far a clock was ahead of a file's timestamp that was set between two of its readings. */
function outside(fromMs: number, stampMs: number, toMs: number): number {
  return Math.max(fromMs - stampMs, 0) + Math.min(toMs - stampMs, 0);
}

/** Writes and flushes a file before a pointer names it; removes it if the disk is full. */
async function written(path: string, text: string): Promise<BigIntStats> {
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text);
    await file.sync();
    return await file.stat({ bigint: true });
  } catch (error) {
    // No pointer names it, so a failed removal does no harm.
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}

/** Flushes the names in a folder. Windows has no such call and keeps them itself. */
async function flushed(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const file = await open(folder, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/*
 * Detects in which boot of the host a folder is used, and on which kind of file system.
 *
 * Guarantee: a network file system is reported only if the system identifies it; unknown facts stay
 * undefined.
 */

/** The types that statfs(2) returns on Linux. */
const NETWORKS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x01021997, '9P'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x7461636f, 'OCFS2'],
  [0x01161970, 'GFS2'],
  [0x47504653, 'GPFS'],
]);
const FUSE = 0x65735546;
const TMPFS = 0x01021994;

export interface FileSystem {
  /** Undefined for another file system, or if the type is unknown. */
  readonly network: string | undefined;
  /** It may be on another host. */
  readonly isFuse: boolean;
  /** It is empty after a reboot. */
  readonly isInMemory: boolean;
  readonly freeBytes: number;
}

/** Examines the folder, or its nearest existing parent. */
export async function fileSystemOf(folder: string): Promise<FileSystem> {
  try {
    const { type, bavail, bsize } = await statfs(folder);
    const kind = process.platform === 'linux' ? type >>> 0 : 0;
    return {
      network: NETWORKS.get(kind),
      isFuse: kind === FUSE,
      isInMemory: kind === TMPFS,
      freeBytes: bavail * bsize,
    };
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && dirname(folder) !== folder) {
      return fileSystemOf(dirname(folder));
    }
    throw error;
  }
}

/**
 * A string that changes with each start of the host, or an empty one. After a disk was set back to
 * a snapshot, all its files are old, and only this string reveals it.
 */
export async function bootOf(): Promise<string> {
  try {
    // The kernel responds without a disk, faster than a thread wakes up.
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return '';
  }
}

/*
 * Errors for a folder that is not readable or writable, with the cause and the remedy.
 *
 * Guarantee: each is a retryable STORE_UNAVAILABLE, because a full disk is emptied and a folder
 * restored. Only permanent causes are not retryable.
 */

const REASONS: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full. Free some space; ids from ranges already leased are still made.',
  EDQUOT:
    'The quota of this user is used up. Free some space; ids from ranges already leased are ' +
    'still made.',
  EFBIG: 'This process may not write files so large (ulimit -f). Raise the limit.',
  EROFS: 'It is mounted read-only. Mount it with write access, or name another folder.',
  EACCES: 'This user may not write there. Give it the folder (chown), or name another one.',
  EPERM: 'This user may not write there. Give it the folder (chown), or name another one.',
  ENOENT:
    'It cannot be made: its file system takes no folders (as /proc), or somebody deletes it. ' +
    'Name a folder on a disk.',
  ENOTDIR: 'Part of its path is a file. Name a folder, or move that file away.',
  ENAMETOOLONG: 'Its path is too long. Name a shorter one.',
  EIO: 'The disk failed. See the system log.',
  EMFILE: 'This process has too many files open (ulimit -n). Raise the limit.',
};
const FOR_GOOD: readonly string[] = ['ENOTDIR', 'ENAMETOOLONG'];

function codeOf(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

export function folderError(error: unknown, folder: string): SnowflakeError {
  if (isSnowflakeError(error)) return error;
  const code = codeOf(error);
  const reason = REASONS[code] ?? `${errorText(error)}.`;
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The registry in the folder ${folder} could not be used (${code || 'no code'}). ${reason}`,
    { retryable: !FOR_GOOD.includes(code), details: { code }, cause: error },
  );
}

/** The folder cannot be created here, for a permanent reason. */
function notMade(folder: string, reason: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `No registry can be made in the folder ${folder}: ${reason}`,
    { retryable: false },
  );
}

function spoilt(folder: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The folder ${folder} holds parts of a registry, or two of them, as if files had been ` +
      `deleted or copied into it. Nothing is granted from it. Delete the whole folder: running ` +
      `processes bring back what they know, and the new registry waits for the rest.`,
  );
}

export function unreadable(folder: string): SnowflakeError {
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The registry in the folder ${folder} cannot be read: its file is from something else, ` +
      `or from another version of this package. Nothing is granted from it. Use that version, or ` +
      `stop all processes and delete the whole folder.`,
    { retryable: false },
  );
}

function otherClock(folder: string, aheadMs: number): SnowflakeError {
  const side = aheadMs < 0 ? 'behind' : 'ahead of';
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `The clock of this host is ${Math.abs(aheadMs)} ms ${side} that of the file system of ` +
      `${folder}, so nothing is leased here. Its ids would have another time than those of other ` +
      `hosts. Set the clock of this host (NTP).`,
    { details: { aheadMs } },
  );
}

export function twoHosts(folder: string, itsMs: number, hereMs: number): SnowflakeError {
  const [its, here] = [itsMs, hereMs].map((ms) => new Date(ms).toISOString());
  return new SnowflakeError(
    'STORE_UNAVAILABLE',
    `Another host writes to the folder ${folder} too: its last write was at ${its} by its clock, ` +
      `and here it is ${here}. Each takes the other for a restart of its own, so neither is ` +
      `granted anything. ${FOR_SEVERAL}`,
    { details: { itsMs, hereMs } },
  );
}

const FOR_SEVERAL =
  'Use a folder on a local disk for processes of one host, and a registry for several: ' +
  "'redis://host:6379?namespace=shop'.";

export function onNetwork(folder: string, kind: string): SnowflakeError {
  return new SnowflakeError(
    'CONFIG_INVALID',
    `The folder ${folder} is on a network file system (${kind}), where what one host has ` +
      `written another may not see, and each has its own clock. ${FOR_SEVERAL}`,
    { details: { kind } },
  );
}
