/**
 * A registry in a folder on a local disk, for the processes of one host.
 *
 * Guarantee: a result is flushed to the disk before it is returned. There are no locks, so a killed
 * process never blocks another. The store detects a copy of the folder, and a disk that was set
 * back by a reboot.
 */
import { access, constants } from 'node:fs/promises';
import { basename } from 'node:path';
import { systemClock, type Clock } from '../../core/clock.js';
import { finding, type Finding } from '../../registry/snapshot.js';
import {
  HEADER_KEY,
  fieldsIn,
  type Row,
  type RowQuery,
  type RowSnapshot,
  type RowStore,
  type RowWrite,
  type StoredRow,
} from '../../rows/row-store.js';
import { LAST_MS, nowOf, slewed, type ClockPolicy } from '../../rows/store-clock.js';
import {
  bootOf,
  fileSystemOf,
  folderError,
  FolderFiles,
  onNetwork,
  twoHosts,
  unreadable,
  type FolderValue,
  type Seen,
} from './folder-files.js';

/** Each failed attempt means that another process wrote other rows. */
const TRY_COUNT = 100;
const FREE_BYTES_MIN = 16 * 2 ** 20;

/** The host and its clock, which tests replace. */
interface FolderStoreParts {
  readonly clock?: Clock | undefined;
  readonly bootOf?: typeof bootOf;
  readonly fileSystemOf?: typeof fileSystemOf;
  readonly seen?: Seen;
}

interface Found {
  readonly value: FolderValue;
  /** The boot of the host, or an empty string. */
  readonly boot: string;
  readonly server: string;
  readonly kept: FolderRows;
}

export class FolderStore implements RowStore {
  readonly location: string;
  /** The folder is on one disk, with one clock. */
  readonly lossWindowMs = 0;
  private readonly files: FolderFiles;
  private readonly now: () => number;
  private readonly bootOf: typeof bootOf;
  private readonly fileSystemOf: typeof fileSystemOf;
  private checked: Promise<void> | undefined;
  /** The state of the last read or write of this process. */
  private last: Found | undefined;
  /** The time when the registry was first ahead of this clock, and the registry's time then. */
  private behind: { readonly timeMs: number; readonly nowMs: number } | undefined;

  constructor(
    readonly folder: string,
    parts: FolderStoreParts = {},
  ) {
    const { clock = systemClock } = parts;
    this.now = () => clock.now();
    this.bootOf = parts.bootOf ?? bootOf;
    this.fileSystemOf = parts.fileSystemOf ?? fileSystemOf;
    this.location = `the folder ${folder}`;
    this.files = new FolderFiles(folder, parts.seen);
  }

  get namespace(): string {
    return basename(this.folder);
  }

  /**
   * If the registry is ahead of this clock, it continues at half its speed from the first
   * detection. Processes whose clocks differ therefore never move it ahead of the fastest one. A
   * clock that did not follow a step forward stays behind.
   */
  readonly clock: ClockPolicy = (last, timeMs) => {
    if (last.slewMs < 0 && timeMs >= last.lastTimeMs) return slewed(last, timeMs);
    const nowMs = nowOf(last);
    const { timeMs: sinceMs, nowMs: wasMs } = this.behind ?? { timeMs, nowMs };
    const isSince = sinceMs <= timeMs && wasMs <= nowMs;
    const laterMs = isSince ? wasMs + Math.floor((timeMs - sinceMs) / 2) : nowMs;
    if (timeMs >= nowMs) this.behind = undefined;
    else if (this.behind === undefined || !isSince) this.behind = { timeMs, nowMs };
    return { lastTimeMs: timeMs, slewMs: Math.max(nowMs, timeMs, laterMs) - timeMs };
  };

  async read({ keys, token }: RowQuery): Promise<RowSnapshot> {
    const { server, kept } = await this.open();
    const asked = new Set(keys);
    const isAsked = (row: FileRow) =>
      asked.has(row.key) || (token !== undefined && row.token === token);
    const rows = [...kept.rows.values()].filter(isAsked).map(storedRow);
    return { timeMs: this.now(), server, rows };
  }

  /** Creates nothing, because the caller may only be reading. */
  async readAll(): Promise<RowSnapshot> {
    const { server = '', kept } = (await this.found()) ?? {};
    return { timeMs: this.now(), server, rows: [...(kept?.rows.values() ?? [])].map(storedRow) };
  }

  async write(write: RowWrite): Promise<boolean> {
    // The write is based on a recent read; if the value has changed since, its name is not found.
    let found = this.last ?? (await this.found());
    for (let count = 0; count < TRY_COUNT; count++) {
      if (found?.server !== write.server || !isAsRead(found.kept, write)) return false;
      const kept = written(found.kept, write);
      const value = await this.files.replace(found.value, textOf(kept)).catch(this.refused);
      if (value !== undefined) {
        this.last = { ...found, value, kept };
        const { lastTimeMs, slewMs } = fieldsIn(write.header?.text ?? '');
        // A rule may have moved the registry ahead of this clock.
        if (isWhole(lastTimeMs) && isWhole(slewMs)) this.clock({ lastTimeMs, slewMs }, lastTimeMs);
        return true;
      }
      found = await this.found();
    }
    return false;
  }

  async advice(): Promise<string[]> {
    const advice: string[] = [];
    const { isFuse, isInMemory } = await this.fileSystem();
    if (isFuse) {
      advice.push(
        `The folder ${this.folder} is on a FUSE file system, so it is unknown where its files ` +
          `are. Use a folder on a local disk.`,
      );
    }
    if (isInMemory) {
      advice.push(
        `The folder ${this.folder} is in memory, so that a reboot empties it and a clock set ` +
          `back with it is not noticed. Use a folder on a disk.`,
      );
    }
    const found = await this.found();
    if (found?.value.isTimeless === true) {
      advice.push(
        `This process can read no times of creation in ${this.folder}, so it may not notice an ` +
          `older copy put in its place. Allow the system call statx, and use a file system such ` +
          `as ext4 with inodes of 256 bytes.`,
      );
    }
    if ((found?.boot ?? (await this.bootOf())) === '') {
      advice.push(
        `This host has no boot id, so a disk set back to a snapshot is not noticed. Delete ` +
          `${this.folder} after one.`,
      );
    }
    return advice;
  }

  async findings(): Promise<Finding[]> {
    const { freeBytes, network } = await this.fileSystem();
    if (network !== undefined) {
      return [finding('fault', 'disk', onNetwork(this.folder, network).message)];
    }
    const mebibytes = `${Math.floor(freeBytes / 2 ** 20)} MiB are free on its disk`;
    const text = `${mebibytes}: once full, no worker id is leased or renewed. Free some space.`;
    const isRoomy = freeBytes >= FREE_BYTES_MIN;
    return [
      isRoomy ? finding('ok', 'disk', `${mebibytes}.`) : finding('warning', 'disk', text),
      await this.rights(),
    ];
  }

  private async rights(): Promise<Finding> {
    if ((await this.found()) === undefined) {
      const text = 'Whether this user may write was not tried: the folder has no registry yet.';
      return finding('note', 'rights', text);
    }
    const ok = () => finding('ok', 'rights', 'This user may write the registry.');
    return access(this.folder, constants.W_OK).then(ok, (error: unknown) =>
      finding('fault', 'rights', folderError(error, this.folder).message),
    );
  }

  /** The registry, which is created if it is absent. */
  private async open(): Promise<Found> {
    this.checked ??= this.fileSystem().then(({ network }) => {
      if (network !== undefined) throw onNetwork(this.folder, network);
    });
    await this.checked.catch((error: unknown) => {
      this.checked = undefined;
      throw error;
    });
    for (;;) {
      const found = await this.found();
      if (found !== undefined) return found;
      // The version is higher than that of any earlier header.
      const empty = textOf({ headerVersionMin: this.now() * 1000, rows: new Map() });
      await this.files.create(empty).catch(this.refused);
    }
  }

  private async found(): Promise<Found | undefined> {
    const { last } = this;
    const value = await this.files.load(last?.value).catch(this.refused);
    if (value === undefined) return undefined;
    const boot = await this.bootOf();
    const isLast = value.name === last?.value.name;
    const kept = isLast ? last.kept : rowsOf(value.text, this.folder);
    const server = serverOf(`${boot} ${value.identity}`, value, kept);
    this.last = { value, boot, server, kept };
    if (last?.boot === boot && isTaken(last, this.last)) {
      const itsMs = Math.min(Number(kept.rows.get(HEADER_KEY)!.number), LAST_MS);
      throw twoHosts(this.folder, itsMs, this.now());
    }
    return this.last;
  }

  private fileSystem() {
    return this.fileSystemOf(this.folder).catch(this.refused);
  }

  private readonly refused = (error: unknown): never => {
    throw folderError(error, this.folder);
  };
}

/**
 * An unreadable creation time does not count as a different one. A process that can read it treats
 * a header without one as a copy, once, and then writes the time into the header.
 */
function serverOf(own: string, { isTimeless }: FolderValue, { rows }: FolderRows): string {
  if (!isTimeless) return own;
  const stored = storedServer(rows);
  const sameInode = own.slice(0, -1); // all but the 0 of its time
  return stored.startsWith(sameInode) ? stored : own;
}

/** True if a header of this boot was replaced by one of another boot. */
function isTaken(before: Found, now: Found): boolean {
  const [was, is] = [before, now].map(({ kept }) => storedServer(kept.rows));
  const own = `${now.boot} `;
  const isOfOther = is !== '' && !is!.startsWith(own);
  return isOfOther && was!.startsWith(own) && before.value.identity === now.value.identity;
}

function storedServer(rows: FolderRows['rows']): string {
  const { server } = fieldsIn(rows.get(HEADER_KEY)?.text ?? '');
  return typeof server === 'string' ? server : '';
}

function isAsRead({ rows }: FolderRows, write: RowWrite): boolean {
  const { header, headerVersion, headerNumber, isTimeOnly } = write;
  const isSame = (key: string, version: number | undefined) => rows.get(key)?.version === version;
  const kept = rows.get(HEADER_KEY);
  const isWhole = header !== undefined && isTimeOnly !== true;
  if (isWhole && BigInt(kept?.number ?? 0) !== headerNumber) return false;
  if (!isSame(HEADER_KEY, headerVersion)) return false;
  return write.rows.every(({ row, version }) => isSame(row.key, version));
}

function written(kept: FolderRows, { header, isTimeOnly, rows: changes }: RowWrite): FolderRows {
  const rows = changes.map(({ row }) => row);
  if (header === undefined) return withRows(kept, rows);
  if (isTimeOnly !== true) return withRows(kept, [header, ...rows]);
  const last = kept.rows.get(HEADER_KEY)!;
  const isLater = header.number > BigInt(last.number);
  const merged = isLater ? { ...last, number: String(header.number) } : last;
  return withRows({ ...kept, rows: new Map(kept.rows).set(HEADER_KEY, merged) }, rows);
}

function withRows(kept: FolderRows, added: readonly Row[]): FolderRows {
  const rows = new Map(kept.rows);
  for (const row of added) {
    const first = row.key === HEADER_KEY ? kept.headerVersionMin : 0;
    const version = (rows.get(row.key)?.version ?? first) + 1;
    rows.set(row.key, { ...row, number: String(row.number), version });
  }
  return { ...kept, rows };
}

/*
 * Converts the rows of a registry to the text of one file, and back.
 *
 * Guarantee: a text that is foreign, or from a later version, is rejected as a whole.
 */

interface FolderRows {
  /** By key, in the file's format, because a process reads only a few of a thousand rows. */
  readonly rows: ReadonlyMap<string, FileRow>;
  /** The versions of its header begin above this. */
  readonly headerVersionMin: number;
}

/** A row in the file's format: JSON has no bigint. */
interface FileRow extends Omit<StoredRow, 'number'> {
  readonly number: string;
}

/** The version of the format; a file of another version is not changed. */
const FORM = 2;

function storedRow(row: FileRow): StoredRow {
  return { ...row, number: BigInt(row.number) };
}

function textOf({ rows, headerVersionMin }: FolderRows): string {
  return JSON.stringify({ form: FORM, headerVersionMin, rows: [...rows.values()] });
}

/** @throws SnowflakeError STORE_UNAVAILABLE, not retryable, for a text in an unknown format */
function rowsOf(text: string, folder: string): FolderRows {
  const { form, headerVersionMin, rows: list } = fieldsIn(text);
  if (form !== FORM || !isWhole(headerVersionMin) || !Array.isArray(list)) throw unreadable(folder);
  const rows = new Map<string, FileRow>();
  for (const row of list) {
    if (!isFileRow(row)) throw unreadable(folder);
    rows.set(row.key, row);
  }
  return { rows, headerVersionMin };
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

const DIGITS = /^\d{1,19}$/;

function isFileRow(value: unknown): value is FileRow {
  const { key, version, number, token, text } = Object(value) as Record<string, unknown>;
  return (
    typeof key === 'string' &&
    isWhole(version) &&
    typeof number === 'string' &&
    DIGITS.test(number) &&
    (token === undefined || typeof token === 'string') &&
    typeof text === 'string'
  );
}
