/**
 * A registry in a Galera cluster of two members that is real, of which processes ask both.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPool, type Pool } from 'mysql2/promise';
import { mysqlSupport, registryTable } from '../../lib/stores/sql/index.js';
import type { LeaseAnswer } from '../../lib/lease/distributed-support.js';
import { freePort } from '../../scripts/servers/free-port.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { held, request } from './redis-lab.js';

/** Of the package galera-4, which MariaDB of Debian depends on. */
const PROVIDER = '/usr/lib/galera/libgalera_smm.so';
const HOST = '127.0.0.1';

const endings: (() => unknown)[] = [];
const pools: Pool[] = [];

/** @param peers the ports of those that are there */
async function startMember(...peers: number[]): Promise<number> {
  const port = await freePort();
  const provider = {
    'gmcast.listen_addr': `tcp://${HOST}:${port}`,
    'ist.recv_addr': `${HOST}:${await freePort()}`,
    'gcache.size': '1M',
  };
  const options = Object.entries(provider).map(([name, value]) => `${name}=${value}`);
  const { url, stop } = await startMariadb([
    '--wsrep-on=ON',
    `--wsrep-provider=${PROVIDER}`,
    `--wsrep-cluster-address=gcomm://${peers.map((peer) => `${HOST}:${peer}`).join(',')}`,
    '--wsrep-sst-method=rsync',
    `--wsrep-sst-receive-address=${HOST}:${await freePort()}`,
    `--wsrep-node-address=${HOST}`,
    `--wsrep-provider-options=${options.join(';')}`,
    '--binlog-format=ROW',
  ]);
  const pool = createPool({ uri: url, connectionLimit: 4 });
  pools.push(pool);
  endings.unshift(stop);
  endings.unshift(() => pool.end());
  return port;
}

beforeAll(async () => {
  const port = await startMember();
  await startMember(port);
  await pools[0]!.query(registryTable('mysql'));
}, 300_000);
afterAll(async () => {
  for (const end of endings) await end();
}, 300_000);

const supportAt = (pool: Pool, namespace: string) =>
  mysqlSupport({ pool, namespace, replicated: false, serverSql: `'the cluster'` });

/** After as long as a new registry says. */
async function leased(support: ReturnType<typeof supportAt>) {
  const asked = request();
  for (;;) {
    const answer: LeaseAnswer = await support.getNextWorkId(asked);
    if (answer.status === 'ok') return held(asked, answer);
    // The store says how long, by its own clock.
    await sleep('waitMs' in answer ? answer.waitMs : 1);
  }
}

describe('two members of Galera', () => {
  it('lease every worker id once, and renew what the other one leased', async () => {
    const namespace = randomUUID();
    const [one, other] = pools.map((pool) => supportAt(pool, namespace));
    const leases = await Promise.all(
      Array.from({ length: 20 }, (_, at) => leased(at % 2 === 0 ? one! : other!)),
    );
    expect(new Set(leases.map(({ workerId }) => workerId)).size).toBe(20);
    const renewals = await Promise.all(
      leases.map((lease, at) => (at % 2 === 0 ? other! : one!).refreshAlive(lease)),
    );
    expect(renewals.map(({ status }) => status)).toEqual(Array(20).fill('ok'));
  });

  it('are said to be what they are', async () => {
    const advice = await supportAt(pools[0]!, randomUUID()).advice!();
    expect(advice.join(' ')).toMatch(/Galera cluster .* one member.*`serverSql`/);
  });
});
