/**
 * The number of the failover by which Sentinel names a server, which grows with each.
 *
 * Guarantee: it is never more than it is at this moment. A Sentinel that does not tell in time
 * knows nothing, and nothing rests on it.
 */
import { withinLimit, type Timers } from '../../../time/timers.js';
import type { RedisClient, Sentinels } from './redis-client.js';
import { fieldOf } from './replies.js';

/** Less than a call may take: a Sentinel that is away holds up the first one of a connection. */
const SENTINEL_MS = 300;

/** The highest that any of the Sentinels tells; 0 where none does, and where there is none. */
export async function failoverEpoch(client: RedisClient, timers: Timers): Promise<number> {
  const { masterName, clients } = (await client.sentinels?.()) ?? NONE;
  const epochs = clients.map((sentinel) => {
    const asking = sentinel
      .settle()
      .then(() => sentinel.call(['sentinel', 'master', masterName]))
      .then((reply) => fieldOf(reply, 'config-epoch'));
    return withinLimit(asking, { timers, ms: SENTINEL_MS, over: () => undefined })
      .then(
        // A Sentinel that has led no failover yet says 0, which is a number like the others.
        (epoch) => (epoch === undefined ? 0 : Number(epoch) + 1),
        () => 0, // Another one may tell; where none does, nothing rests on it.
      )
      .finally(() => sentinel.disconnect());
  });
  return Math.max(0, ...(await Promise.all(epochs)));
}

const NONE: Sentinels = { masterName: '', clients: [] };
