/**
 * The number of the failover by which Sentinel names the master, which grows with each: a server
 * that was left for another one and is named again shows no other sign of it.
 *
 * Promise: never more than the number at this moment, so that a later failover has a higher one;
 * 0 where there is no Sentinel, or none that tells.
 */
import type { Timers } from '../../../patience/timers.js';
import { withinLimit } from '../../../patience/within-limit.js';
import type { RedisClient } from './redis-client.js';

/** Less than a call may take: a Sentinel that is away holds up the first one of a connection. */
const TOLD_MS = 300;

interface SentinelOptions {
  readonly sentinels?: readonly { readonly host?: string; readonly port?: number }[] | null;
  readonly name?: string;
  readonly sentinelUsername?: string | null;
  readonly sentinelPassword?: string | null;
  readonly sentinelTLS?: object;
}

interface SentinelClient extends RedisClient {
  call(...command: string[]): Promise<unknown>;
}

/** The highest that any of the Sentinels tells that the client was given. */
export async function sentinelEpoch(client: RedisClient, timers: Timers): Promise<number> {
  const { sentinels, name, ...login } = (client.options ?? {}) as SentinelOptions;
  const given = client as unknown as { duplicate(options: object): SentinelClient };
  const told = (sentinels ?? []).map(async ({ host, port = 26_379 }) => {
    const sentinel = given.duplicate({
      sentinels: null,
      host,
      port,
      username: login.sentinelUsername ?? null,
      password: login.sentinelPassword ?? null,
      tls: login.sentinelTLS,
      enableReadyCheck: false,
      retryStrategy: () => null,
    });
    // What goes wrong is told by the command.
    sentinel.on('error', () => undefined);
    const asking = sentinel.connect().then(() => sentinel.call('SENTINEL', 'MASTER', name!));
    return withinLimit(asking, { timers, ms: TOLD_MS, over: () => [] })
      .then(epochIn, () => 0) // Another one may tell; where none does, nothing rests on it.
      .finally(() => sentinel.disconnect());
  });
  return Math.max(0, ...(await Promise.all(told)));
}

function epochIn(reply: unknown): number {
  const pairs = reply as unknown[];
  const at = pairs.indexOf('config-epoch');
  // A Sentinel that has led no failover yet says 0, which is a number like the others.
  return at < 0 ? 0 : Number(pairs[at + 1]) + 1;
}
