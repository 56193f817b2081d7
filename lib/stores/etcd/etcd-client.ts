/**
 * Asks the members of one etcd, over connections that stay open, as a user if one is given.
 *
 * Guarantee: a question that changes nothing goes on to the next member if one does not answer; a
 * write is sent once, so its caller knows that the answer may be lost. It is sent again only if
 * etcd says that it did not look at it, since the login had expired. Nothing outlives close().
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
  /** Default false: it changes nothing, and may be asked again. */
  readonly isWrite?: boolean;
  /** Ask this one, and no other. */
  readonly endpoint?: URL;
}

/** The connections from the first question to close(). */
interface Life {
  readonly end: AbortController;
  readonly agent: Agent;
  token?: string | undefined;
  login?: Promise<string> | undefined;
  /** They end where another member is asked from now on. */
  readonly watches: Set<() => void>;
}

/** What etcd tells from now on. */
export interface EtcdWatch {
  /** The request by which it begins. */
  readonly create: object;
  readonly told: (events: readonly unknown[]) => void;
  /** Called once, when nothing else will be told. */
  readonly ended: () => void;
}

export class EtcdClient {
  readonly where: string;
  // Private, so that printing the support does not show it.
  readonly #settings: EtcdSettings;
  readonly #timers: Timers;
  #life: Life | undefined;
  /** The index of the endpoint that answered last. */
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
    // Connections that were kept may have been closed meanwhile, so that one member is asked twice.
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
   * Resolves with what ends it when etcd has begun to watch.
   *
   * @throws SnowflakeError STORE_UNAVAILABLE, or Error where it ended before
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

  /** Reads an answer. @throws SnowflakeError STORE_UNAVAILABLE if it cannot be read */
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
    // This ends questions without a connection too, which would get the next ones.
    life.end.abort();
    for (const end of life.watches) end();
    life.agent.destroy();
    this.#life = undefined;
  }

  #begun(): Life {
    const { endpoints, tls } = this.#settings;
    const isTls = endpoints.some(({ protocol }) => protocol === 'https:');
    const end = new AbortController();
    // Each question that waits adds a listener.
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

  /** It is undefined where no user is given. */
  async #tokenFor(life: Life, endpoint: URL): Promise<string | undefined> {
    if (this.#settings.username === undefined) return undefined;
    return life.token ?? this.#login(life, endpoint);
  }

  /** One login serves all that wait for it: etcd takes its time to compare a password. */
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
 * Answers of the gateway are checked before they are used.
 *
 * Guarantee: an answer that lacks what etcd always sends is a fault with words, be it a page of a
 * proxy, the answer of another server, or half of a body.
 */

/** The member that answered, and how far it had come. */
export interface EtcdHeader {
  readonly clusterId: string;
  readonly memberId: string;
  /** 0 where the member has applied nothing since it started. */
  readonly term: number;
  readonly revision: number;
}

export interface EtcdAnswer {
  readonly fields: Readonly<Record<string, unknown>>;
  /** The clock of the member, Unix ms. */
  readonly timeMs: number;
  /** 1000, since etcd tells whole seconds; 1 where milliseconds are told. */
  readonly resolutionMs: number;
  /** The connection that carried it. */
  readonly socket: object;
  /** The endpoint that answered. */
  readonly endpoint: URL;
}

/** The format of etcd; a proxy may add milliseconds. */
const DATE = /^\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2}(\.\d{3})? GMT$/;

/** @throws Error in words of etcd or ours; etcdError makes a typed one of it */
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

/** The gateway of etcd 3.4 calls it error as well as message. */
function saidBy(fields: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const said = fields?.['message'] ?? fields?.['error'];
  return typeof said === 'string' && said !== '' ? said : undefined;
}

function fieldsOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    // Callers report what is missing if they need it.
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

/** etcd writes whole numbers of 64 bits as text. */
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

/** Reads a list that etcd leaves out if it is empty. */
export function listIn(fields: Readonly<Record<string, unknown>>, name: string): unknown[] {
  const list = fields[name] ?? [];
  if (!Array.isArray(list)) throw new Error(`left out its ${name}`);
  return list;
}
