/**
 * Asks the members of one etcd, over connections that stay open, as a user if one is given.
 *
 * Guarantee: a question that changes nothing goes on to the next member if one does not answer; a
 * write is sent once, so its caller knows that the answer may be lost. It is sent again only if
 * etcd says that it did not look at it, since the login had expired. Nothing outlives close().
 */
import { setMaxListeners } from 'node:events';
import type { Agent } from 'node:http';
import { isSnowflakeError, SnowflakeError } from '../../errors.js';
import { systemTimers, type Timers } from '../../time/timers.js';
import { readAnswer, type EtcdAnswer } from './etcd-answer.js';
import { etcdError, isOfMember } from './etcd-errors.js';
import type { EtcdSettings } from './etcd-options.js';
import { agentFor, endIdle, post } from './http-request.js';

interface EtcdQuestion {
  /** Below /v3, e.g. `kv/txn`. */
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
        if (life.end.signal.aborted) throw closed(this.where);
        const error = this.#errorAt(life, endpoint, fault);
        if (!isOfMember(error)) throw error;
        if (question.endpoint === undefined && this.#at === at) {
          this.#at = (at + 1) % endpoints.length;
        }
        if (tries >= tryCount) throw error;
        endIdle(life.agent);
      }
    }
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
    life.agent.destroy();
    this.#life = undefined;
  }

  #begun(): Life {
    const { endpoints, tls } = this.#settings;
    const isTls = endpoints.some(({ protocol }) => protocol === 'https:');
    const end = new AbortController();
    // Each question that waits adds a listener.
    setMaxListeners(0, end.signal);
    return { end, agent: agentFor(isTls, tls) };
  }

  async #askAt(life: Life, endpoint: URL, question: EtcdQuestion): Promise<EtcdAnswer> {
    const { username } = this.#settings;
    if (username === undefined) return this.#sent(life, endpoint, question);
    const token = life.token ?? (await this.#login(life, endpoint));
    try {
      return await this.#sent(life, endpoint, question, token);
    } catch (fault) {
      if (etcdError(fault, noWhere).details['refusal'] !== 'login-expired') throw fault;
      if (life.token === token) life.token = undefined;
      const next = life.token ?? (await this.#login(life, endpoint));
      return this.#sent(life, endpoint, question, next);
    }
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
    if (life.end.signal.aborted) throw closed(this.where);
    const answer = await post({
      url: new URL(`/v3/${path}`, endpoint),
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...(token && { authorization: token }) },
      agent: life.agent,
      signal: life.end.signal,
      limitMs: this.#settings.requestTimeoutMs,
      timers: this.#timers,
    });
    return readAnswer(answer, endpoint);
  }

  #errorAt(life: Life | undefined, { host }: URL, fault: unknown): SnowflakeError {
    if (isSnowflakeError(fault)) return fault;
    const texts = [this.#settings.password, life?.token].filter((text) => text !== undefined);
    // A server that repeats the request repeats it as JSON.
    const secrets = [...texts, ...texts.map((text) => JSON.stringify(text).slice(1, -1))];
    return etcdError(fault, { where: host, secrets });
  }
}

const noWhere = { where: '', secrets: [] };

function closed(where: string): SnowflakeError {
  return new SnowflakeError(
    'NOT_READY',
    `The connection to etcd at ${where} was closed during this call because the application is ` +
      `shutting down. Call this while it is running.`,
    { retryable: false, details: { where } },
  );
}
