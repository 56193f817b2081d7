// The benchmark `clients`: renewals and locks by each client of Redis, against ioredis 5.
//
// Guarantee: each client stands beside ioredis 5 in one process, on a redis-server of their own,
// and the two take turns of a third of a second; a ratio is of two turns that follow each other.
import { median, spread, whole } from '../harness/figures.mjs';
import { inTurns, measureApart } from '../harness/turns.mjs';
import { withRedis } from './server.mjs';

const FILE = new URL('clients.client.mjs', import.meta.url);
const BASE = 'ioredis 5';
const NAMES = [BASE, 'ioredis 6', 'iovalkey', 'node-redis 6', 'node-redis 5', 'Valkey GLIDE'];
const ACTS = ['renewals', 'locks', 'scripts'];

async function run(/** @type {import('../harness/turns.mjs').RunOptions} */ options) {
  const measure = (name, round) =>
    withRedis(({ url }) => measureApart({ file: FILE }, { names: [BASE, name], url }, round));
  const byName = await inTurns(NAMES, measure, options);
  const cells = (results, act) => {
    const ratios = results.map(({ [act]: [base, own] }) =>
      median(own.map((rate, turn) => rate / base[turn])),
    );
    return [whole(median(results.flatMap(({ [act]: [, own] }) => own))), spread(ratios, 2)];
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
    `it sends a script that only returns, without this library. What is lost there is its own. ` +
    `Each takes turns with ioredis 5 in one process; the first row is ioredis 5 beside itself, ` +
    `so that it shows what the machine does.`,
  columns: [
    'client',
    'renewals/s',
    'of ioredis 5',
    'locks/s',
    'of ioredis 5',
    'alone/s',
    'of ioredis 5',
  ],
  run,
};
