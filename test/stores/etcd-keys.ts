/**
 * The keys of a registry in an etcd that is real, for tests that look at them or spoil them.
 */

const toBase64 = (text: string) => Buffer.from(text).toString('base64');
const fromBase64 = (text = '') => Buffer.from(text, 'base64').toString('utf8');

/** Of a URL that names one etcd: its first member. */
export function endpointOf(url: string): string {
  return `http://${/\/\/(?:[^@]*@)?([^/,?]+)/.exec(url)![1]}`;
}

export class EtcdKeys {
  readonly prefix: string;

  constructor(
    readonly endpoint: string,
    readonly namespace: string,
    private readonly authorization?: string,
  ) {
    this.prefix = `snowflake/${namespace}/`;
  }

  /** Names without the prefix, and values. */
  async all(): Promise<Map<string, string>> {
    const answer = await this.ask('kv/range', this.span());
    const kvs = (answer['kvs'] ?? []) as { key: string; value?: string }[];
    return new Map(
      kvs.map(({ key, value }) => [fromBase64(key).slice(this.prefix.length), fromBase64(value)]),
    );
  }

  async put(name: string, value: string): Promise<void> {
    await this.ask('kv/put', { key: toBase64(this.prefix + name), value: toBase64(value) });
  }

  async delete(name: string): Promise<void> {
    await this.ask('kv/deleterange', { key: toBase64(this.prefix + name) });
  }

  async deleteAll(): Promise<void> {
    await this.ask('kv/deleterange', this.span());
  }

  async ask(path: string, body: object): Promise<Record<string, unknown>> {
    const headers: Record<string, string> =
      this.authorization === undefined ? {} : { authorization: this.authorization };
    const answer = await fetch(`${this.endpoint}/v3/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      headers,
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return JSON.parse(text) as Record<string, unknown>;
  }

  private span() {
    const end = `${this.prefix.slice(0, -1)}0`;
    return { key: toBase64(this.prefix), range_end: toBase64(end) };
  }
}
