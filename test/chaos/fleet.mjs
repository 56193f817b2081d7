/**
 * The processes under attack. Each gets a successor when it ends.
 *
 * Guarantee: stop() leaves no process behind, whatever happened before.
 */
import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** @import { ChildProcess } from 'node:child_process' */
/** @typedef {ChildProcess & { clockFile: string, place: string }} Member */

/** Clocks that differ by less than the library corrects (5 s), even from the next one. */
const OFFSETS_S = [4, -4, 2, -2, 0];

/** The prefix of files from processes of the previous build. */
export const PREVIOUS = 'previous';
/** How long a rolling update waits for the next process. */
const ROLLED_MS = 3000;

export class Fleet {
  /** @type {Set<Member>} */
  members = new Set();
  startedCount = 0;
  /** How often a process began to use another worker ID, or took a segment. */
  leaseCount = 0;
  /** Those by processes of the previous build. */
  previousLeaseCount = 0;
  /** Places that run the previous build. @type {boolean[]} */
  #isPrevious = [];
  /** Callbacks for each lease, and for each process that is about to lease. */
  #news = new EventEmitter();
  /** Exits that no fault caused. @type {Record<string, number>} */
  exits = {};
  #isOver = false;

  /**
   * @param {object} parts
   * @param {string} parts.app the folder of the library
   * @param {string | undefined} parts.previousApp the folder of another build, with which every
   * second place begins
   * @param {string} parts.worker its file
   * @param {string} parts.folder for the records of the processes
   * @param {string} parts.support the URL for the processes
   * @param {string} parts.libfaketime
   * @param {number} parts.size the count of processes
   * @param {Record<string, string>} parts.settings more variables
   * @param {boolean} parts.hasOneClock whether the host's clock is also the store's
   */
  constructor(parts) {
    this.parts = parts;
    for (let location = 0; location < parts.size; location++) {
      this.#isPrevious.push(parts.previousApp !== undefined && location % 2 === 1);
      this.#start(location);
    }
  }

  /** A process that runs and is not paused. */
  any(/** @type {() => number} */ random) {
    const list = [...this.members];
    return list[Math.floor(random() * list.length)];
  }

  /** Ends a process. Its successor starts at once. */
  async end(/** @type {Member} */ member) {
    if (member.exitCode !== null || member.signalCode !== null) return;
    member.kill('SIGTERM');
    await once(member, 'exit');
  }

  /**
   * Performs or undoes a rolling update: the process of one place after the other ends, and its
   * successor runs the other build.
   * @param {boolean} toPrevious @param {number} count of places, from the first
   */
  async roll(toPrevious, count) {
    for (let location = 0; location < count; location++) {
      if (this.#isPrevious[location] === toPrevious) continue;
      this.#isPrevious[location] = toPrevious;
      await this.#replace(location);
    }
  }

  /** Performs a rolling update: each later process has these settings. */
  async update(/** @type {Record<string, string>} */ settings) {
    Object.assign(this.parts.settings, settings);
    for (let location = 0; location < this.parts.size; location++) await this.#replace(location);
  }

  async #replace(/** @type {number} */ location) {
    const leased = this.next('lease', ROLLED_MS);
    const old = [...this.members].find((member) => member.location === String(location));
    if (old) await this.end(old);
    await leased;
  }

  /**
   * The next process that is about to lease, or that leased, within the time.
   * @param {'up' | 'lease'} what @param {number} spanMs
   * @returns {Promise<Member | undefined>}
   */
  async next(what, spanMs) {
    const signal = AbortSignal.timeout(spanMs);
    const [member] = await once(this.#news, what, { signal }).catch(() => []);
    return member;
  }

  async stop() {
    this.#isOver = true;
    const ends = [...this.members].map(
      (member) => new Promise((resolve) => member.once('exit', resolve)),
    );
    for (const member of this.members) {
      member.kill('SIGCONT');
      member.kill('SIGTERM');
    }
    const timer = setTimeout(() => this.kill(), 5000);
    await Promise.all(ends);
    clearTimeout(timer);
  }

  kill() {
    this.#isOver = true;
    for (const member of this.members) member.kill('SIGKILL');
  }

  #start(/** @type {number} */ location) {
    const { worker, folder, support, libfaketime, settings, hasOneClock } = this.parts;
    const isPrevious = this.#isPrevious[location] === true;
    const app = (isPrevious && this.parts.previousApp) || this.parts.app;
    const file = join(folder, `${isPrevious ? PREVIOUS : 'process'}-${++this.startedCount}`);
    const clockFile = `${file}.clock`;
    const offsets = hasOneClock ? [0] : OFFSETS_S;
    setClock(clockFile, offsets[this.startedCount % offsets.length] ?? 0);
    const log = openSync(`${file}.log`, 'a');
    const member = /** @type {Member} */ (
      fork(join(app, worker), {
        execArgv: [],
        stdio: ['ignore', log, log, 'ipc'],
        env: {
          ...process.env,
          ...settings,
          CHAOS_SUPPORT: support,
          CHAOS_FILE: file,
          CHAOS_PLACE: String(location),
          CHAOS_BORN_MS: String(process.hrtime.bigint() / 1_000_000n),
          LD_PRELOAD: libfaketime,
          FAKETIME_TIMESTAMP_FILE: clockFile,
          FAKETIME_CACHE_DURATION: '1',
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
          DONT_FAKE_MONOTONIC: '1',
          // File times follow the system clock, which is the same for all processes.
          NO_FAKE_STAT: '1',
        },
      })
    );
    closeSync(log);
    member.clockFile = clockFile;
    member.location = String(location);
    this.members.add(member);
    member.on('message', (/** @type {{ isUp?: boolean }} */ { isUp = false }) => {
      if (!isUp) this.leaseCount++;
      if (!isUp && isPrevious) this.previousLeaseCount++;
      this.#news.emit(isUp ? 'up' : 'lease', member);
    });
    member.once('exit', (code, signal) => {
      this.members.delete(member);
      const how = signal ?? `exit ${code}`;
      this.exits[how] = (this.exits[how] ?? 0) + 1;
      if (!this.#isOver) this.#start(location);
    });
  }
}

/** The shift of the wall clock that libfaketime applies to the reader of this file. */
export function setClock(/** @type {string} */ clockFile, /** @type {number} */ offsetS) {
  writeFileSync(clockFile, `${offsetS < 0 ? '-' : '+'}${Math.abs(offsetS)}\n`);
}
