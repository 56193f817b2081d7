/**
 * Where a topology of mistakes plays: the servers and processes it started, what was demanded of
 * them and did not come true.
 *
 * Guarantee: after clear() no server and no process is left, whatever happened before.
 */
import { fork } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkFolder } from '../report.mjs';
import { RedisNode } from '../topologies.mjs';

/** @import { ChildProcess } from 'node:child_process' */
/**
 * How a start ended.
 * @typedef {object} Outcome
 * @property {'active' | 'refused' | 'stopped'} status
 * @property {string} name
 * @property {Member} member
 * @property {string} file
 * @property {number} [workerId]
 * @property {string} [incarnation]
 * @property {string} [code]
 * @property {string} [message]
 * @property {boolean} [retryable]
 * @property {number} [tookMs]
 */
/**
 * What a refusal must say. It is final unless waiting could help; 'either' where that depends on
 * which end of a connection is heard first.
 * @typedef {{ code?: RegExp, words: readonly RegExp[], isFinal?: boolean | 'either' }} Refusal
 */

/** A process may take this long to start on a busy machine, beside what its options allow. */
const PATIENCE_MS = 60_000;

/** How long a start tries that must fail, where waiting could help. */
const REFUSED_AFTER_MS = 4000;
/** A server may take this long to see another one. */
const UNTIL_MS = 15_000;

/** A process in which applications are started and stopped. */
class Member {
  /** What its applications logged. @type {string[]} */
  lines = [];
  /** @type {Map<string, (answer: any) => void>} */
  #waiting = new Map();

  constructor(/** @type {string} */ app, /** @type {string} */ log, env = {}) {
    const output = openSync(log, 'a');
    this.child = fork(join(app, 'process.mjs'), {
      execArgv: [],
      stdio: ['ignore', output, output, 'ipc'],
      env: { ...process.env, ...env },
    });
    closeSync(output);
    this.child.on('message', (/** @type {any} */ said) => {
      if (said.kind === 'log') this.lines.push(said.text);
      else this.#waiting.get(said.name)?.(said);
    });
    this.gone = new Promise((resolve) => this.child.once('exit', resolve));
  }

  /** @returns {Promise<any>} */
  async call(/** @type {string} */ call, /** @type {string} */ name, settings = {}) {
    const limit = new AbortController();
    const answer = new Promise((resolve) => this.#waiting.set(name, resolve));
    // One that is gone is noticed below.
    this.child.send({ call, name, settings }, () => undefined);
    const late = sleep(PATIENCE_MS, undefined, { signal: limit.signal }).then(() => {
      throw new Error(`${name} did not answer "${call}" within ${PATIENCE_MS} ms`);
    });
    const died = this.gone.then(() => {
      throw new Error(`the process of ${name} ended`);
    });
    try {
      return await Promise.race([answer, late, died]);
    } finally {
      limit.abort();
      died.catch(() => undefined);
    }
  }
}

export class Stage {
  /** What did not come true. @type {string[]} */
  faults = [];
  /** What the row of the report tells beside its figures. */
  note = '';
  /** Texts that no message and no log line may show. @type {string[]} */
  secrets = [];
  counts = { starts: 0, refused: 0 };
  /** @type {Set<Member>} */
  #members = new Set();
  /** @type {(() => unknown)[]} */
  #ends = [];

  constructor(/** @type {string} */ folder, /** @type {string} */ app) {
    this.folder = folder;
    this.app = app;
    this.files = join(folder, 'processes');
    mkdirSync(this.files, { recursive: true });
  }

  /** A Redis of its own, gone at the end. */
  async redis(/** @type {{ args?: string[], login?: object }} */ { args, login } = {}) {
    const node = new RedisNode(join(this.folder, `redis-${this.#ends.length}`), args, login);
    this.onEnd(() => node.kill());
    await node.start(['--appendonly', 'no']);
    return node;
  }

  /** What is to be ended with the stage, last first. */
  onEnd(/** @type {() => unknown} */ end) {
    this.#ends.push(end);
  }

  process(/** @type {object} */ env = {}) {
    const member = new Member(this.app, join(this.folder, `log-${this.#members.size}`), env);
    this.#members.add(member);
    return member;
  }

  /**
   * Starts an application, in a process of its own unless one is given.
   * @param {object} settings as process.mjs reads them
   * @param {Member} [member]
   * @returns {Promise<Outcome>}
   */
  async start(settings, member = this.process()) {
    const name = `application-${++this.counts.starts}`;
    const file = join(this.files, name);
    const answer = await member.call('start', name, { ...settings, file });
    if (answer.status === 'refused') this.counts.refused++;
    this.#lookForSecrets(answer.message ?? '');
    return { ...answer, name, member, file };
  }

  async stop(/** @type {Outcome} */ { status, name, member }) {
    if (status === 'active') await member.call('stop', name);
  }

  /** An application that must start. @param {object} settings @param {Member} [member] */
  async runs(settings, member) {
    const outcome = await this.start(settings, member);
    this.demand(outcome.status === 'active', `a start was refused: ${outcome.message}`);
    return outcome;
  }

  /**
   * An application whose start must be refused, with the reason and before any id.
   * @param {{ lease?: object }} settings @param {Refusal} refusal @param {Member} [member]
   */
  async isRefused(settings, refusal, member) {
    const lease = { startTimeoutMs: REFUSED_AFTER_MS, ...settings.lease };
    const outcome = await this.start({ ...settings, lease }, member);
    this.judgeRefusal(outcome, refusal);
    return outcome;
  }

  judgeRefusal(/** @type {Outcome} */ outcome, /** @type {Refusal} */ refusal) {
    const { status, code = '', message = '', retryable, file } = outcome;
    const { code: codes = /^STORE_UNAVAILABLE$/, words, isFinal = true } = refusal;
    if (status !== 'refused') return this.demand(false, `started in spite of ${words.join(' ')}`);
    this.demand(codes.test(code), `${code} instead of ${codes}: ${message}`);
    for (const word of words) this.demand(word.test(message), `no ${word} in: ${message}`);
    const isAsMeant = isFinal === 'either' || retryable !== isFinal;
    this.demand(isAsMeant, `retryable is ${retryable}: ${message}`);
    const idBytes = existsSync(`${file}.ids`) ? statSync(`${file}.ids`).size : 0;
    this.demand(idBytes === 0, `${idBytes / 8} ids were made before this: ${message}`);
  }

  demand(/** @type {boolean} */ isSo, /** @type {string} */ otherwise) {
    if (!isSo) this.faults.push(otherwise);
  }

  /** Whether somebody logged this. */
  hasLogged(/** @type {RegExp} */ text) {
    return [...this.#members].some(({ lines }) => lines.some((line) => text.test(line)));
  }

  isEverybodyAlive() {
    return [...this.#members].every(({ child }) => child.exitCode === null && !child.signalCode);
  }

  sleep(/** @type {number} */ ms) {
    return sleep(ms);
  }

  /** @param {() => Promise<unknown>} isSo errors count as no */
  async until(isSo) {
    for (const endMs = performance.now() + UNTIL_MS; performance.now() < endMs; await sleep(50)) {
      if (await isSo().catch(() => false)) return;
    }
    throw new Error(`Waited in vain for: ${isSo.toString()}`);
  }

  async clear() {
    for (const { child } of this.#members) child.kill('SIGKILL');
    for (const member of this.#members) {
      await member.gone;
      for (const line of member.lines) this.#lookForSecrets(line);
    }
    for (const end of this.#ends.reverse()) await end();
  }

  /** What was found; after clear(). */
  result() {
    return { ...this.counts, ...checkFolder(this.files), faults: this.faults, note: this.note };
  }

  #lookForSecrets(/** @type {string} */ text) {
    const seen = this.secrets.filter((secret) => text.includes(secret));
    this.demand(seen.length === 0, `a secret is shown: ${text}`);
  }
}
