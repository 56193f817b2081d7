/**
 * Whether a registry in Redis follows the rules that are proved while it is attacked by many
 * processes: each server tells, by MONITOR, each script that it ran with its arguments and each
 * write of it, in the order in which they happened. So what the registry knew before and after each
 * operation is known to the field, and the processes write down what they were answered.
 *
 * Guarantee: what happens to Redis excuses no operation. An answer by a script that ran while
 * nobody listened is counted; what changed beside all scripts is a difference. What is told and how
 * it is read are in one file.
 */
import { closeSync, createReadStream, openSync, readdirSync, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Follower } from '../proof/follow.mjs';
import { registryInRedis } from '../proof/registries.mjs';
import { eventsOf } from './report.mjs';

/** @import { RegistryHeader } from '../../lib/registry/snapshot.js' */
/** @import { StoreCall } from '../simulation/world/index.js' */

// What happened, line by line: as MONITOR tells it, and between two lines what Redis knew there.

/**
 * @typedef {Record<string, string>} Fields of the hash
 * @typedef {{ mark: string, server: string, isReplica: boolean, fields: Fields }} Known at a mark
 */

/** So often Redis is asked what it knows, and who it is: a name may change while it runs. */
const ASKED_MS = 100;
const AGAIN_MS = 5;
const CUT = 'cut';

export class Recorder {
  #isOver = false;
  #markCount = 0;
  #file;
  #isDone;

  /** @param {() => number} portOf @param {string} key @param {string} path of the file */
  constructor(portOf, key, path) {
    this.portOf = portOf;
    this.key = key;
    this.path = path;
    this.#file = openSync(path, 'a');
    this.#isDone = this.#listen();
  }

  async stop() {
    this.#isOver = true;
    await this.#isDone;
    closeSync(this.#file);
  }

  async #listen() {
    while (!this.#isOver) {
      await this.#listenOnce();
      writeSync(this.#file, `${CUT}\n`);
      await sleep(AGAIN_MS);
    }
  }

  /** Until the connection is lost. */
  async #listenOnce() {
    const socket = connect(this.portOf(), '127.0.0.1');
    const admin = new Redis({ port: this.portOf(), retryStrategy: () => null, lazyConnect: true });
    const isLost = new Promise((resolve) => socket.once('close', resolve));
    for (const one of [socket, admin]) one.on('error', () => undefined);
    try {
      let rest = '';
      socket.on('data', (bytes) => {
        const lines = (rest + bytes).split('\r\n');
        rest = lines.pop() ?? '';
        const told = lines.filter((line) => this.#isAbout(line));
        if (told.length > 0) writeSync(this.#file, `${told.join('\n')}\n`);
      });
      socket.write('MONITOR\r\n');
      let isOpen = true;
      void isLost.then(() => (isOpen = false));
      while (isOpen && !this.#isOver) {
        await Promise.race([this.#ask(admin).catch(() => undefined), isLost]);
        await Promise.race([sleep(ASKED_MS), isLost]);
      }
    } finally {
      socket.destroy();
      admin.disconnect();
    }
  }

  /** What the registry is. */
  async #ask(/** @type {Redis} */ admin) {
    const mark = `mark-${process.pid}-${++this.#markCount}`;
    const asked = admin.multi().echo(mark).info('server').info('replication').hgetall(this.key);
    const [, server, replication, fields] = (await asked.exec())?.map(([, reply]) => reply) ?? [];
    const facts = [server, replication].join('\n');
    const [run, id] = [/^run_id:(\w+)/m, /^master_replid:(\w+)/m].map(
      (name) => name.exec(facts)?.[1],
    );
    const known = { mark, server: `${run}:${id}`, isReplica: facts.includes('role:slave'), fields };
    writeSync(this.#file, `${JSON.stringify(known)}\n`);
  }

  /** What scripts read is left out. */
  #isAbout(/** @type {string} */ line) {
    if (line.includes(' lua] ') && !/ lua\] "(?:HSET|HDEL|DEL|UNLINK)"/i.test(line)) return false;
    return line.includes(this.key) || /"(?:FLUSHALL|FLUSHDB|ECHO)"/i.test(line);
  }
}

// Follows what was recorded.

const LINE = /^\+[\d.]+ \[\d+ ([^\]]+)\] (.*)$/;
const WORD = /"((?:[^"\\]|\\.)*)"/g;
const ESCAPED = /\\(?:x([0-9a-f]{2})|(.))/g;
const LETTERS = { n: '\n', r: '\r', t: '\t', a: '\u0007', b: '\b' };

const wordsIn = (/** @type {string} */ text) =>
  [...text.matchAll(WORD)].map(([, word = '']) =>
    word.replace(ESCAPED, (_, code, letter) =>
      code === undefined ? (LETTERS[letter] ?? letter) : String.fromCodePoint(parseInt(code, 16)),
    ),
  );

/** What a script was asked, by its arguments: see lib/stores/redis/scripts/worker-ids. */
/** @type {(args: readonly string[]) => StoreCall} */
function callOf([layouts = '', ttl, window = '', , wall, ...rest]) {
  const [incarnation, server, now, time, token = '', nonce = '', ...own] = rest;
  const [fingerprint = '', moved] = layouts.split('\n');
  const ttlMs = Number(ttl);
  const common = {
    fingerprint,
    ttlMs,
    quarantineMs: ttlMs + parseInt(window),
    token,
    nonce,
    ...(moved && { layouts: moved }),
    ...(wall && { wallMs: Number(wall) }),
    ...(incarnation && {
      reckoned: { incarnation, server, nowMs: Number(now), timeMs: Number(time) },
    }),
  };
  const numberAt = (/** @type {number} */ at) => Number(own[at]);
  if (own.length < SHORTEST.renew) {
    const used = numberAt(2);
    const lease = { ...common, workerId: numberAt(1), haveMs: 0, mark: {}, minRangeMs: 0 };
    return { op: 'release', lease, lastIssuedMs: used === 0 ? undefined : used - 1 };
  }
  if (own.length < SHORTEST.acquire) {
    const mark = { incarnation: own[3], server: own[4], operations: numberAt(5), era: numberAt(7) };
    const lease = { ...common, workerId: numberAt(1), haveMs: numberAt(2), mark };
    return { op: 'renew', lease: { ...lease, minRangeMs: numberAt(6) } };
  }
  const seen = { incarnation: own[6], server: own[7], era: numberAt(8), haveMs: numberAt(9) };
  const request = { ...common, minRangeMs: numberAt(2), haveMs: numberAt(3) };
  return { op: 'acquire', request: { ...request, ...(own[6] && { seen }) } };
}

/** How many arguments it has at least of its own, after token and nonce. */
const SHORTEST = { renew: 9, acquire: 10 };

/**
 * @param {string} folder of the processes
 * @param {readonly { path: string, key: string }[]} recorded of each server
 * @returns what was followed, and what could not be; undefined where nothing was recorded
 */
export async function followedIn(folder, recorded) {
  if (recorded.length === 0) return undefined;
  const names = readdirSync(folder).filter((name) => name.endsWith('.events'));
  const events = names.flatMap((name) => eventsOf(join(folder, name)));
  const { lossWindowMs = 0 } = events.find(({ kind }) => kind === 'support') ?? {};
  const sum = new Sum();
  for (const { path, key } of recorded) {
    const server = new Followed({ key, lossWindowMs, known: await knownIn(path), sum });
    for await (const line of linesOf(path)) server.takes(line);
  }
  for (const event of events) if (event.kind === 'answered') sum.hears(event);
  return sum.found;
}

const linesOf = (/** @type {string} */ path) => createInterface({ input: createReadStream(path) });

/** By their marks, each with the name that the server has at the next one. */
async function knownIn(/** @type {string} */ path) {
  /** @type {Map<string, Known & { next?: string }>} */
  const known = new Map();
  /** @type {Known & { next?: string } | undefined} */
  let last;
  for await (const line of linesOf(path)) {
    if (line === CUT) last = undefined;
    if (!line.startsWith('{')) continue;
    const own = /** @type {Known} */ (JSON.parse(line));
    if (last !== undefined) last.next = own.server;
    known.set(own.mark, own);
    last = own;
  }
  return known;
}

/** What all servers did, and what their processes were answered. */
class Sum {
  follower = new Follower();
  /** Each operation, by what its answer says. @type {Set<string>} */
  seen = new Set();
  /** From the last that was known to the first that was again. */
  /** @type {{ from: RegistryHeader | undefined, to: RegistryHeader | undefined }[]} */
  gaps = [];
  /** Each registry of each server that somebody listened to. @type {Set<string>} */
  known = new Set();
  counted = { answerCount: 0, unseenCount: 0, lossCount: 0 };

  get found() {
    return { ...this.follower.followed, ...this.counted };
  }

  differs(/** @type {string} */ text) {
    this.follower.followed.differences.push(text);
  }

  /** What a process was answered. */
  hears(/** @type {any} */ { op, token, answer }) {
    const { server, operations } = answer.mark;
    if (this.seen.has(textOf(answer.mark))) {
      this.counted.answerCount++;
      this.follower.answers({ op, token }, answer);
      return;
    }
    const own = nameOf(answer.mark);
    const isUnseen =
      !this.known.has(own) ||
      this.gaps.some(({ from, to }) => {
        const isFrom = from !== undefined && nameOf(from) === own;
        const isTo = to !== undefined && nameOf(to) === own;
        const isIn =
          (!isFrom || from.operations < operations) && (!isTo || operations <= to.operations);
        return isIn && (isFrom || isTo);
      });
    if (isUnseen) this.counted.unseenCount++;
    else this.differs(`an answer to ${op} by operation ${operations} of ${server}, not recorded`);
  }
}

class Followed {
  /** What the registry knows; undefined while nobody listens. @type {Fields | undefined} */
  #fields;
  /** The script that is running, and what the registry knew before it. */
  /** @type {{ call: StoreCall, before: Fields | undefined } | undefined} */
  #running;
  /** The last mark. @type {(Known & { next?: string }) | undefined} */
  #known;
  /** @type {RegistryHeader | undefined} */
  #last;

  /**
   * @param {object} of
   * @param {string} of.key
   * @param {number} of.lossWindowMs
   * @param {Awaited<ReturnType<typeof knownIn>>} of.known
   * @param {Sum} of.sum
   */
  constructor(of) {
    this.of = of;
  }

  /** The next of what was recorded. */
  takes(/** @type {string} */ line) {
    if (line === CUT) this.#misses();
    const [, source, text = ''] = LINE.exec(line) ?? [];
    if (source === undefined) return;
    const [name = '', ...words] = wordsIn(text);
    const command = name.toUpperCase();
    if (source === 'lua') return this.#writes(command, words);
    this.#ends();
    const { key, known } = this.of;
    if (command === 'ECHO') this.#knows(known.get(words[0] ?? ''));
    else if (!command.startsWith('EVAL')) this.#writes(command, words);
    else if (words[2] === key) {
      this.#running = { call: callOf(words.slice(3)), before: this.#fields };
    }
  }

  /** Nobody knows what happens until the next mark. */
  #misses() {
    this.#ends();
    this.#fields = undefined;
  }

  /** As Redis says at a mark. */
  #knows(/** @type {(Known & { next?: string }) | undefined} */ known) {
    if (known === undefined) return;
    const { mark, fields, isReplica } = known;
    const { header } = registryInRedis(fields);
    const { sum } = this.of;
    // A replica may begin anew with all that its master has.
    const isAlone = !isReplica && this.#known?.isReplica === false;
    if (this.#fields === undefined) sum.gaps.push({ from: this.#last, to: header });
    else if (isAlone && !isSame(this.#fields, fields)) {
      sum.differs(`${mark}: the registry has changed beside all scripts`);
    }
    if (header !== undefined) sum.known.add(nameOf(header));
    this.#known = known;
    this.#fields = fields;
    this.#last = header ?? this.#last;
  }

  /** @param {string} command @param {readonly string[]} words */
  #writes(command, [key, ...words]) {
    // What was put there Redis says at the next mark.
    if (/^(RESTORE|MIGRATE)/.test(command)) return this.#misses();
    const isLost = /^FLUSH|^DEL$|^UNLINK$/.test(command);
    if (this.#fields === undefined || (key !== this.of.key && !command.startsWith('FLUSH'))) return;
    const fields = isLost ? {} : { ...this.#fields };
    if (isLost) this.of.sum.counted.lossCount++;
    if (command === 'HSET') {
      for (let at = 0; at < words.length; at += 2) fields[words[at] ?? ''] = words[at + 1] ?? '';
    }
    if (command === 'HDEL') for (const name of words) delete fields[name];
    this.#fields = fields;
  }

  /** A script has ended. */
  #ends() {
    const { call, before } = this.#running ?? {};
    const fields = this.#fields;
    this.#running = undefined;
    if (call === undefined || before === fields || !before || !fields) return;
    const { sum, lossWindowMs } = this.of;
    const [first, later] = [registryInRedis(before), registryInRedis(fields)];
    const { header } = later;
    const { server: known = '', next = header?.server } = this.#known ?? {};
    // Where it is another one at the next mark, the registry says from when on.
    const server = header?.server === next ? (next ?? '') : known;
    const [epoch, laterEpoch] = [before, fields].map((one) => Number(one['epoch'] ?? 0));
    const isLeft = first.header?.server === server && epoch > 0 && laterEpoch > epoch;
    const timeMs = header?.lastTimeMs ?? 0;
    const reading = { timeMs, server, isLeft, random: '', lossWindowMs };
    sum.follower.takes(first, later, { call, reading, answer: undefined });
    if (header === undefined) return;
    sum.seen.add(textOf(header));
    sum.known.add(nameOf(header));
    this.#last = header;
  }
}

/** @typedef {Pick<RegistryHeader, 'incarnation' | 'server' | 'operations'>} Mark */
const nameOf = (/** @type {Mark} */ { incarnation, server }) => `${incarnation} ${server}`;
const textOf = (/** @type {Mark} */ mark) => `${nameOf(mark)} ${mark.operations}`;

const isSame = (/** @type {Fields} */ one, /** @type {Fields} */ other) =>
  Object.keys(one).length === Object.keys(other).length &&
  Object.entries(one).every(([name, value]) => other[name] === value);
