/**
 * The stage of a topology of mistakes: its servers, its processes, and the unmet expectations.
 *
 * Guarantee: clear() leaves no server and no process behind, whatever happened before.
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
 * The expected refusal. It is final unless waiting could help. 'either' means that this depends on
 * which end of a connection arrives first.
 * @typedef {{ code?: RegExp, words: readonly RegExp[], isFinal?: boolean | 'either' }} Refusal
 */

/** How long a process may take to start on a busy machine, in addition to its options. */
const PATIENCE_MS = 60_000;

/** How long a hopeless start tries if waiting could help. */
const REFUSED_AFTER_MS = 4000;
/** How long a server may take to see another one. */
const UNTIL_MS = 15_000;

/** A process that starts and stops applications. */
class Member {
  /** The log lines of its applications. @type {string[]} */
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
    // The code below detects a process that is gone.
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
  /** Unmet expectations. @type {string[]} */
  faults = [];
  /** Further text in the row of the report. */
  note = '';
  /** Strings that no message and no log line may show. @type {string[]} */
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

  /** A private Redis, which stops at the end. */
  async redis(/** @type {{ args?: string[], login?: object }} */ { args, login } = {}) {
    const node = new RedisNode(join(this.folder, `redis-${this.#ends.length}`), args, login);
    this.onEnd(() => node.kill());
    await node.start(['--appendonly', 'no']);
    return node;
  }

  /** Clean-up steps, in reverse order. */
  onEnd(/** @type {() => unknown} */ end) {
    this.#ends.push(end);
  }

  process(/** @type {object} */ env = {}) {
    const member = new Member(this.app, join(this.folder, `log-${this.#members.size}`), env);
    this.#members.add(member);
    return member;
  }

  /**
   * Starts an application, in its own process unless one is given.
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
   * Expects that a start fails, with the reason and before the first ID.
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

  /** Whether any process logged this. */
  hasLogged(/** @type {RegExp} */ text) {
    return [...this.#members].some(({ lines }) => lines.some((line) => text.test(line)));
  }

  isEverybodyAlive() {
    return [...this.#members].every(({ child }) => child.exitCode === null && !child.signalCode);
  }

  sleep(/** @type {number} */ ms) {
    return sleep(ms);
  }

  /** @param {() => Promise<unknown>} isSo an error counts as false */
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

  /** The result, after clear(). */
  result() {
    return { ...this.counts, ...checkFolder(this.files), faults: this.faults, note: this.note };
  }

  #lookForSecrets(/** @type {string} */ text) {
    const seen = this.secrets.filter((secret) => text.includes(secret));
    this.demand(seen.length === 0, `a secret is shown: ${text}`);
  }
}
