/**
 * Our one connection to Redis: opened at the first call, closed by us.
 *
 * Promise: a script is one atomic step, sent by its hash and, where the server does not know it,
 * by its text. Every failure is a SnowflakeError that says where and why.
 */
import type { RedisClient } from './redis-client.js';
import { redisError } from './redis-error.js';
import type { SCRIPTS } from './scripts.generated.js';

type Script = (typeof SCRIPTS)[keyof typeof SCRIPTS];

export class RedisConnection {
  private client: RedisClient | undefined;
  private opening: Promise<RedisClient> | undefined;
  private settling: Promise<void> | undefined;
  private lastError: Error | undefined;

  constructor(
    private readonly build: () => Promise<RedisClient>,
    /** For messages; without a password. */
    readonly where: string,
  ) {}

  async run(script: Script, key: string, args: readonly (string | number)[]): Promise<unknown[]> {
    try {
      const client = await this.ready();
      return (await evaluate(client, script, key, args)) as unknown[];
    } catch (error) {
      throw redisError(error, this.where, this.lastError);
    }
  }

  async info(section: string): Promise<string> {
    try {
      return await (await this.ready()).info(section);
    } catch (error) {
      throw redisError(error, this.where, this.lastError);
    }
  }

  async close(): Promise<void> {
    const { client } = this;
    this.client = this.opening = undefined;
    // Not QUIT: a server that hangs would never answer it, and nothing is under way any more.
    client?.disconnect();
  }

  private async ready(): Promise<RedisClient> {
    this.opening ??= this.open();
    const client = await this.opening.catch((error: unknown) => {
      this.opening = undefined;
      throw error;
    });
    if (client.status === 'ready') return client;
    if (client.status === 'wait' || client.status === 'end')
      await (this.settling ??= client.connect().finally(() => (this.settling = undefined)));
    else await (this.settling ??= settled(client).finally(() => (this.settling = undefined)));
    return client;
  }

  private async open(): Promise<RedisClient> {
    const client = await this.build();
    client.on('error', (error) => (this.lastError = error));
    client.on('ready', () => (this.lastError = undefined));
    this.client = client;
    return client;
  }
}

/**
 * A connection under way comes up or breaks; commands sent before that would fail for no reason.
 */
function settled(client: RedisClient): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      client.off('ready', done);
      client.off('close', done);
      resolve();
    };
    client.once('ready', done);
    client.once('close', done);
  });
}

async function evaluate(
  client: RedisClient,
  script: Script,
  key: string,
  args: readonly (string | number)[],
): Promise<unknown> {
  try {
    return await client.evalsha(script.sha1, 1, key, ...args);
  } catch (error) {
    if (!(error as Error).message.startsWith('NOSCRIPT')) throw error;
    return client.eval(script.lua, 1, key, ...args);
  }
}
