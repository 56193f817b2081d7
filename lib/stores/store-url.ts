/**
 * The URL of a store, in one grammar:
 *
 *     scheme://user:password@host:port,host:port/path?name=value
 *
 * Guarantee: an invalid URL is rejected with its errors. A message repeats only its scheme.
 */
import { readFileSync } from 'node:fs';
import { invalidUrl, nearest, type OptionTable, type Row } from '../options.js';
import { kindOf } from '../url-schemes.js';

/** By name, with the function that reads each one. */
type InUrl = readonly (readonly [name: string, kind: NonNullable<Row[2]>])[];

/** The part after `?`. Errors are collected until `refuse()`. */
export class UrlQuery {
  readonly #url: string;
  readonly #values: Map<string, string>;
  readonly #names: readonly string[];
  readonly #faults: string[] = [];

  constructor(url: string, query: string) {
    const pairs = [...new URLSearchParams(query)];
    this.#url = url;
    this.#values = new Map(pairs);
    this.#names = [...this.#values.keys()];
    if (this.#values.size < pairs.length) this.fault('it gives one of its parameters twice');
  }

  text(name: string): string | undefined {
    return this.#values.get(name);
  }

  /** Reads a parameter, which is then no longer unknown. */
  take(name: string): string | undefined {
    const value = this.#values.get(name);
    this.#values.delete(name);
    return value;
  }

  /** NaN for anything but plain digits; Number() would read some of it as 0 or 16. */
  number(name: string): number | undefined {
    const text = this.text(name);
    return text === undefined ? undefined : /^-?\d{1,15}$/.test(text) ? Number(text) : NaN;
  }

  flag(name: string): boolean | undefined {
    const text = this.text(name);
    if (text === 'true' || text === 'false') return text === 'true';
    if (text !== undefined) this.fault(`its ${name} is none of true, false`);
    return undefined;
  }

  /** The content of a file. Its path is not shown, because a wrong path may be a secret. */
  file(name: string): string | undefined {
    const path = this.text(name);
    if (path === undefined) return undefined;
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      const { code = 'no reason given' } = error as NodeJS.ErrnoException;
      this.fault(`the file that its ${name} names cannot be read (${code})`);
      return undefined;
    }
  }

  /** The options in the URL; every other parameter is an error. */
  options<O>(table: OptionTable<O>, strangers: string, more: readonly string[] = []) {
    const rows = Object.entries<Row>(table);
    const known = rows.flatMap(([name, [, , kind]]): InUrl => (kind ? [[name, kind]] : []));
    this.expect([...known.map(([name]) => name), ...more], strangers);
    return this.read(known) as Partial<O>;
  }

  read(options: InUrl): Readonly<Record<string, unknown>> {
    const read = options.map(([name, kind]) => [name, this[kind](name)] as const);
    return Object.fromEntries(read.filter(([, value]) => value !== undefined));
  }

  fault(fault: string): void {
    this.#faults.push(fault);
  }

  /**
   * Finds unknown parameters, and values that contain a part of another URL.
   *
   * @param strangers names that are not secret: any other may be a part of a password
   */
  expect(known: readonly string[], strangers: string): void {
    this.#values.forEach((value, name) => {
      const isOther = /[=@]/.test(value);
      if (known.includes(name) && !isOther) return;
      if (known.includes(name)) {
        const words = 'holds = or @, as if it were part of another URL: give its value alone';
        return this.fault(`its ${name} ${words}`);
      }
      const isCommon = strangers.split(' ').includes(name);
      const which = isCommon
        ? `"${name}"`
        : `its parameter number ${this.#names.indexOf(name) + 1}`;
      const meant = nearest(name, known);
      const guess = meant === undefined ? '' : ` (did you mean \`${meant}\`?)`;
      this.fault(`${which} is not known${guess}; known are ${known.join(', ')}`);
    });
  }

  /** @throws SnowflakeError CONFIG_INVALID with every error found */
  refuse(): void {
    if (this.#faults.length > 0) throw invalidUrl(this.#url, ...this.#faults);
  }
}

/** The format of a store's URLs. */
export interface UrlForm {
  readonly kind: ReturnType<typeof kindOf>;
  /** For a message. */
  readonly example: string;
  /** The port of a host without one. */
  readonly port: number;
}

export interface Address {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
}

/** Each is absent if it is empty. */
export interface Login {
  readonly username?: string;
  readonly password?: string;
}

const PARTS = /^[^:]+:\/\/(?:([^@/]*)@)?([^@/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?$/;
/** A name, an address, or an IPv6 address in brackets: never a part of a connection string. */
const HOST = /^([\p{L}\p{N}._-]+|\[[\da-f:.]+(?:%[\w.-]+)?\])(?::(\d{1,5}))?$/iu;

export class StoreUrl extends UrlQuery {
  readonly login: Login;
  /** At least one. */
  readonly hosts: readonly Address[];
  readonly path: string;

  /** @throws SnowflakeError CONFIG_INVALID for a URL that cannot be split */
  constructor(url: string, { kind, example, port }: UrlForm) {
    refuseInvisible(url);
    if (/\/\/[^?]*[/@][^?]*@/.test(url)) {
      throw invalidUrl(url, 'a / or @ in its user or password must be written %2F or %40');
    }
    const parts = PARTS.exec(url);
    if (parts === null || kindOf(url) !== kind) {
      const isCut = url.includes('#', url.indexOf('@') + 1);
      const form = `it does not have the form ${example}`;
      throw invalidUrl(url, isCut ? 'a # in it must be written %23' : form);
    }
    const [, login = '', hosts = '', path = '', query = ''] = parts;
    super(url, query);
    this.login = loginIn(login);
    this.hosts = hosts.split(',').map((text, at) => this.#address(text, at + 1, port));
    this.path = path;
  }

  #address(text: string, number: number, portDefault: number): Address {
    const [, host, digits = portDefault] = HOST.exec(text) ?? [];
    const port = Number(digits);
    if (host === undefined) {
      this.fault(`its host number ${number} is not written as host or host:port`);
    }
    if (port < 1 || port > 65_535) this.fault(`${port} is not a port from 1 to 65535`);
    return { host: host?.replace(/^\[|\]$/g, '') ?? '', port };
  }
}

/** @throws SnowflakeError CONFIG_INVALID */
export function refuseInvisible(url: string): void {
  if (!/[\s\p{C}]/u.test(url)) return;
  const fault = 'it contains a space, a line break or another invisible character: take it out';
  throw invalidUrl(url, fault);
}

function loginIn(text: string): Login {
  const colon = text.indexOf(':');
  const username = decodedPart(colon < 0 ? text : text.slice(0, colon));
  const password = colon < 0 ? '' : decodedPart(text.slice(colon + 1));
  return { ...(username !== '' && { username }), ...(password !== '' && { password }) };
}

/** Decodes a part of a URL; unchanged if its escapes are invalid. */
export function decodedPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
