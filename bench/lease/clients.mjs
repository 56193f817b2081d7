// The benchmark `clients`: renewals and locks by each client of Redis, against ioredis.
//
// Guarantee: each client has a process and a redis-server of its own in each round, and all take
// turns; a ratio is of two figures of the same round.
import { column, median, spread, whole } from '../harness/figures.mjs';
import { inTurns, measureApart } from '../harness/turns.mjs';
import { withRedis } from './server.mjs';

const FILE = new URL('clients.client.mjs', import.meta.url);
const BASE = 'ioredis';
const NAMES = [BASE, 'iovalkey', 'node-redis', 'Valkey GLIDE'];
const ACTS = ['renewals', 'locks', 'scripts'];

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const measure = (name, round) =>
    withRedis(({ url }) => measureApart({ file: FILE }, { name, url }, round));
  const byName = await inTurns(NAMES, measure, options);
  const cells = (results, act) => {
    const base = column(byName.get(BASE), act);
    const ratios = column(results, act).map((value, round) => value / base[round]);
    return [whole(median(column(results, act))), spread(ratios, 2)];
  };
  return [...byName].map(([name, results]) => [
    name,
    ...ACTS.flatMap((act) => cells(results, act)),
  ]);
}

export const clients = {
  title: 'Clients of Redis',
  explanation:
    `Renewals and locks a second by each client that \`redis\` takes, given as made by its own ` +
    `package. 64 holders renew over one connection, each again as soon as it was answered; 64 ` +
    `take and release a lock of their own. The last columns are the client alone: 64 at a time ` +
    `it sends a script that only returns, without this library. What is lost there is its own.`,
  columns: ['client', 'renewals/s', 'of ioredis', 'locks/s', 'of ioredis', 'alone/s', 'of ioredis'],
  run,
};
