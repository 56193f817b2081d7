/**
 * Sends requests to the members of one etcd cluster over persistent connections, optionally as a
 * user.
 *
 * Guarantee: if a member does not respond, a read goes to the next member. A write is sent only
 * once, so its caller must expect that the response may be lost. It is sent again only if etcd
 * rejects an expired login, which means that it did not execute the write. Nothing outlives
 * close().
 */
import { setMaxListeners } from 'node:events';
import type { Agent } from 'node:http';
import { isSnowflakeError, type SnowflakeError } from '../../errors.js';
import { systemTimers, withinLimit, type Timers } from '../../time/timers.js';
import { closedError } from '../refusals.js';
import { etcdError, isOfMember } from './etcd-errors.js';
import type { EtcdSettings } from './etcd-options.js';
import { agentFor, endIdle, post, stream, type HttpAnswer } from './http-request.js';

interface EtcdQuestion {
  /** The path below /v3, e.g. `kv/txn`. */
  readonly path: string;
  readonly body: object;
  /** Default false: the request changes nothing, and may be repeated. */
  readonly isWrite?: boolean;
  /** Sends the request to this member only. */
  readonly endpoint?: URL;
}

/** The connections from the first request to close(). */
interface Life {
  readonly end: AbortController;
  readonly agent: Agent;
  token?: string | undefined;
  login?: Promise<string> | undefined;
  /** They end when requests go to another member. */
  readonly watches: Set<() => void>;
}

/** The events that etcd reports from the request on. */
export interface EtcdWatch {
  /** The first request on the connection. */
  readonly create: object;
  readonly told: (events: readonly unknown[]) => void;
  /** Called once, when no more events will come. */
  readonly ended: () => void;
}

export class EtcdClient {
  readonly where: string;
  // Private, so that printing the support does not show it.
  readonly #settings: EtcdSettings;
  readonly #timers: Timers;
  #life: Life | undefined;
  /** The index of the endpoint that responded last. */
  #at = 0;

  constructor(settings: EtcdSettings, timers: Timers = systemTimers) {
    this.#settings = settings;
    this.#timers = timers;
    this.where = settings.endpoints.map(({ host }) => host).join(',');
  }

  get endpoints(): readonly URL[] {
    return this.#settings.endpoints;
  }

  /** @throws SnowflakeError STORE_UNAVAILABLE, or NOT_READY after close() */
  async ask(question: EtcdQuestion): Promise<EtcdAnswer> {
    const { endpoints } = this.#settings;
    const isOnce = question.isWrite === true || question.endpoint !== undefined;
    // The server may have closed an idle connection, so even a single member gets a second try.
    const tryCount = isOnce ? 1 : Math.max(2, endpoints.length);
    const life = (this.#life ??= this.#begun());
    for (let tries = 1; ; tries++) {
      const at = this.#at;
      const endpoint = question.endpoint ?? endpoints[at]!;
      try {
        return await this.#askAt(life, endpoint, question);
      } catch (fault) {
        if (life.end.signal.aborted) throw closedError(`etcd at ${this.where}`, this.where);
        const error = this.#errorAt(life, endpoint, fault);
        if (!isOfMember(error)) throw error;
        if (question.endpoint === undefined && this.#at === at) {
          this.#at = (at + 1) % endpoints.length;
          for (const end of life.watches) end();
        }
        if (tries >= tryCount) throw error;
        endIdle(life.agent);
      }
    }
  }

  /**
   * Resolves with a function that ends the watch, when etcd has begun to watch.
   *
   * @throws SnowflakeError STORE_UNAVAILABLE, or Error if the watch ended before that
   */
  async watch({ create, told, ended }: EtcdWatch): Promise<() => void> {
    const life = (this.#life ??= this.#begun());
    const endpoint = this.#settings.endpoints[this.#at]!;
    const token = await this.#tokenFor(life, endpoint);
    let end = () => {};
    const begun = new Promise<void>((resolve, reject) => {
      const line = (text: string) => {
        const result = recordOf(fieldsOf(text)?.['result']);
        if (result['created'] === true && result['canceled'] !== true) resolve();
        else if (Array.isArray(result['events'])) told(result['events']);
        else end();
      };
      const over = () => {
        if (life.watches.delete(end)) ended();
        reject(new Error('The watch has ended.'));
      };
      const url = new URL('/v3/watch', endpoint);
      const body = JSON.stringify({ create_request: create });
      const call = { url, body, headers: headersOf(token), agent: life.agent };
      end = stream({ call, line, ended: over });
      life.watches.add(end);
    });
    const ms = this.#settings.requestTimeoutMs;
    const late = (): never => {
      end();
      throw new Error(`no answer within ${ms} ms`);
    };
    await withinLimit(begun, { ms, timers: this.#timers, over: late });
    return end;
  }

  /** Reads a response. @throws SnowflakeError STORE_UNAVAILABLE if it is not readable */
  read<T>(answer: EtcdAnswer, read: (answer: EtcdAnswer) => T): T {
    try {
      return read(answer);
    } catch (fault) {
      throw this.errorAt(answer.endpoint, fault);
    }
  }

  /** Returns a SnowflakeError for a failure at an endpoint. */
  errorAt(endpoint: URL, fault: unknown): SnowflakeError {
    return this.#errorAt(this.#life, endpoint, fault);
  }

  async close(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    // This also ends requests without a connection, which would otherwise get the next free ones.
    life.end.abort();
    for (const end of life.watches) end();
    life.agent.destroy();
    this.#life = undefined;
  }

  #begun(): Life {
    const { endpoints, tls } = this.#settings;
    const isTls = endpoints.some(({ protocol }) => protocol === 'https:');
    const end = new AbortController();
    // Each pending request adds a listener.
    setMaxListeners(0, end.signal);
    return { end, agent: agentFor(isTls, tls), watches: new Set() };
  }

  async #askAt(life: Life, endpoint: URL, question: EtcdQuestion): Promise<EtcdAnswer> {
    const token = await this.#tokenFor(life, endpoint);
    if (token === undefined) return this.#sent(life, endpoint, question);
    try {
      return await this.#sent(life, endpoint, question, token);
    } catch (fault) {
      if (etcdError(fault, noWhere).details['refusal'] !== 'login-expired') throw fault;
      if (life.token === token) life.token = undefined;
      const next = life.token ?? (await this.#login(life, endpoint));
      return this.#sent(life, endpoint, question, next);
    }
  }

  /** Undefined without a user. */
  async #tokenFor(life: Life, endpoint: URL): Promise<string | undefined> {
    if (this.#settings.username === undefined) return undefined;
    return life.token ?? this.#login(life, endpoint);
  }

  /** All pending requests share one login, because etcd compares passwords slowly. */
  async #login(life: Life, endpoint: URL): Promise<string> {
    const { username: name, password } = this.#settings;
    const asked = { path: 'auth/authenticate', body: { name, password } };
    life.login ??= this.#sent(life, endpoint, asked)
      .then(({ fields: { token } }) => {
        if (typeof token !== 'string' || token === '') throw new Error('left out the token');
        return (life.token = token);
      })
      .finally(() => (life.login = undefined));
    return life.login;
  }

  async #sent(
    life: Life,
    endpoint: URL,
    { path, body }: EtcdQuestion,
    token?: string,
  ): Promise<EtcdAnswer> {
    if (life.end.signal.aborted) throw closedError(`etcd at ${this.where}`, this.where);
    const { agent, end } = life;
    const url = new URL(`/v3/${path}`, endpoint);
    const own = { body: JSON.stringify(body), headers: headersOf(token), agent };
    const call = { url, ...own, signal: end.signal };
    return readAnswer(await post(call, this.#settings.requestTimeoutMs, this.#timers), endpoint);
  }

  #errorAt(life: Life | undefined, { host }: URL, fault: unknown): SnowflakeError {
    if (isSnowflakeError(fault)) return fault;
    const texts = [this.#settings.password, life?.token].filter((text) => text !== undefined);
    // A server that repeats the request repeats it as JSON.
    const secrets = [...texts, ...texts.map((text) => JSON.stringify(text).slice(1, -1))];
    return etcdError(fault, { where: host, secrets });
  }
}

function headersOf(token: string | undefined) {
  return { 'content-type': 'application/json', ...(token && { authorization: token }) };
}

const noWhere = { where: '', secrets: [] };

/*
 * Checks responses of the gateway before they are used.
 *
 * Guarantee: a response without a field that etcd always sends is an error with a clear message.
 * Examples are a proxy's error page, the response of another server, and an incomplete body.
 */

/** The member that responded, and its progress. */
export interface EtcdHeader {
  readonly clusterId: string;
  readonly memberId: string;
  /** 0 if the member has applied nothing since it started. */
  readonly term: number;
  readonly revision: number;
}

export interface EtcdAnswer {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The clock of the member, Unix ms. */
  readonly timeMs: number;
  /** 1000, because etcd sends whole seconds; 1 if the time has milliseconds. */
  readonly resolutionMs: number;
  /** The connection that carried the response. */
  readonly socket: object;
  /** The endpoint that responded. */
  readonly endpoint: URL;
}

/** The format of etcd; a proxy may add milliseconds. */
const DATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2}(\.\d{3})? GMT$/;

/**
 * @throws Error with a message of etcd or of this library; etcdError turns it into a typed error
 */
function readAnswer({ status, date, text, socket }: HttpAnswer, endpoint: URL): EtcdAnswer {
  if (status >= 300 && status < 400) throw new Error(`answered by a redirect (HTTP ${status})`);
  const fields = fieldsOf(text);
  if (status !== 200) throw new Error(saidBy(fields) ?? wordsOf(status));
  if (fields === undefined) throw new Error('answered with something other than JSON');
  const [isDate, part] = DATE.exec(date ?? '') ?? [];
  if (isDate === undefined) throw new Error('answered no Date');
  const resolutionMs = part === undefined ? 1000 : 1;
  return { fields, timeMs: Date.parse(isDate), resolutionMs, socket, endpoint };
}

function wordsOf(status: number): string {
  if (status === 404) return 'answered 404, as one that does not know the path';
  return `answered with something other than JSON (HTTP ${status})`;
}

/** The gateway of etcd 3.4 sends the text as both error and message. */
function saidBy(fields: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const said = fields?.['message'] ?? fields?.['error'];
  return typeof said === 'string' && said !== '' ? said : undefined;
}

function fieldsOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    // Callers that need a missing field report it.
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function answerHeader({ fields }: Pick<EtcdAnswer, 'fields'>): EtcdHeader {
  const header = fields['header'];
  const {
    cluster_id: clusterId,
    member_id: memberId,
    raft_term: term,
    revision,
  } = recordOf(header);
  if (!isDigits(clusterId) || !isDigits(memberId)) throw new Error('left out its cluster');
  return {
    clusterId,
    memberId,
    term: term === undefined ? 0 : wholeNumber(term, 'raft_term'),
    revision: wholeNumber(revision, 'revision'),
  };
}

/** etcd writes 64-bit integers as strings. */
export function wholeNumber(value: unknown, name: string): number {
  const number = isDigits(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(number)) throw new Error(`left out its ${name}`);
  return number;
}

function isDigits(value: unknown): value is string {
  return typeof value === 'string' && /^\d{1,20}$/.test(value);
}

export function recordOf(value: unknown): Record<string, unknown> {
  return isRecord(value) ? value : {};
}

/** Reads a list, which etcd omits if it is empty. */
export function listIn(fields: Readonly<Record<string, unknown>>, name: string): unknown[] {
  const list = fields[name] ?? [];
  if (!Array.isArray(list)) throw new Error(`left out its ${name}`);
  return list;
}
