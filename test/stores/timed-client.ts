/**
 * A client of Redis by which scripts are told time and server, and which forgets on demand.
 */
import { createHash } from 'node:crypto';
import type { Redis, RedisOptions } from 'ioredis';

export interface TimedReading {
  readonly timeMs: number;
  readonly server: string;
}

/**
 * A client of the application whose duplicates give each script time and server at its end.
 *
 * @param texts of the scripts that take them there, by the hash of the text that does not
 */
export function timedClient(
  redis: Redis,
  texts: ReadonlyMap<string, string>,
  reading: () => TimedReading,
) {
  return {
    status: redis.status,
    options: redis.options,
    duplicate(options: RedisOptions) {
      const client = redis.duplicate(options);
      const byHash = client.evalsha.bind(client);
      const evalsha = async (sha1: string, keyCount: number, ...args: (string | number)[]) => {
        const { timeMs, server } = reading();
        const text = texts.get(sha1)!;
        const given = [...args, timeMs, server];
        return byHash(hashOf(text), keyCount, ...given).catch((error: unknown) => {
          if (!String(error).includes('NOSCRIPT')) throw error;
          return client.eval(text, keyCount, ...given);
        });
      };
      return Object.assign(client, { evalsha });
    },
  };
}

/** A key that is not there is copied by not being there. */
export async function copied(redis: Redis, from: string, to: string): Promise<void> {
  await redis.del(to);
  await redis.copy(from, to);
}

const hashes = new Map<string, string>();

function hashOf(text: string): string {
  const known = hashes.get(text) ?? createHash('sha1').update(text).digest('hex');
  hashes.set(text, known);
  return known;
}
