/**
 * Cron jobs under attack, on each store of locks. Processes end at each stage of a run, pause, and
 * are rolled out with another schedule, zone and class. Stores open late, lose data, fail over, and
 * have a clock that is minutes off.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { WallClock } from '../../scripts/servers/wall-clock.mjs';
import { checkFleet, checkRuns } from './cron-judge.mjs';
import { NETWORK_FAULTS, storeFault, until } from './fault.mjs';
import { eventsOf } from './report.mjs';
import {
  DELETED,
  EtcdLocks,
  FAILED_OVER,
  MariadbLocks,
  OLD_COPY,
  PACE,
  PostgresLocks,
  Redis,
  RedisBySentinel,
  shared,
  SqliteLocks,
  StandbyLocks,
  TABLE_CREATED,
} from './lock-topologies.mjs';
import { SQLITE_FAULTS } from './stores/files.mjs';
import { STANDBY_FAULTS } from './stores/postgres.mjs';

/** @import { Fault, World } from './fault.mjs' */
/** @import { Member } from './fleet.mjs' */

const CRON_WORDS = {
  made: 'runs',
  twice: 'runs of a settled tick',
  back: 'ticks missed, or tokens that fell',
  stretch: 'a run',
  good: 'No settled tick was run again, and none was missed.',
};

// Process faults of a fleet, besides the common ones.

/** How long the first process may take to reach the stage. */
const REACHED_MS_MAX = 10_000;

/** The first process that reaches the stage. @param {World} world @param {string} stage */
async function reached({ fleet }, stage) {
  const members = [...fleet.members];
  const send = (/** @type {string} */ wanted) => {
    for (const it of members) if (it.connected) it.send({ stage: wanted }, () => undefined);
  };
  const countOf = (/** @type {Member} */ { clockFile }) =>
    eventsOf(clockFile.replace(/clock$/, 'events')).filter((event) => event.stage === stage).length;
  const before = new Map(members.map((it) => [it, countOf(it)]));
  const isThere = (/** @type {Member} */ it) => countOf(it) > (before.get(it) ?? 0);
  send(stage);
  await until(async () => members.some(isThere), REACHED_MS_MAX).catch(() => undefined);
  send('');
  return members.find(isThere) ?? false;
}

const KILL = 'kill -9 ';
/** Kills at each stage of a run, named as in `cron-worker.mjs`. @type {readonly Fault[]} */
export const ENDS = [
  { name: 'kill -9 before the lock is asked for' },
  { name: 'kill -9 after the grant' },
  { name: 'kill -9 before the note of the begin' },
  { name: 'kill -9 while the note of the begin is on its way' },
  { name: 'kill -9 before its effect' },
  { name: 'kill -9 after its effect' },
  { name: 'kill -9 before the note of the end' },
  { name: 'kill -9 while the note of the end is on its way' },
  { name: 'kill -9 after the note of the end' },
].map(({ name }) => ({
  name,
  level: 'process',
  gap: 'starting',
  apply: (world) => reached(world, name.slice(KILL.length)),
}));

/** Far longer than a lock lasts without extension. `cron-worker.mjs` defines that time. */
const BLOCKED = /** @type {Fault} */ ({
  name: 'a run blocks its process',
  level: 'process',
  gap: 'none',
  apply: (world) => reached(world, 'blocked'),
});

/**
 * Records the time of the fault for the judge. @param {string} kind @param {Fault} fault @returns
 * {Fault}
 */
const told = (kind, fault) => ({
  ...fault,
  async apply(world) {
    const fromMs = monotonicMs();
    try {
      return await fault.apply(world);
    } finally {
      tell(world.topology, { kind, name: fault.name, fromMs, toMs: monotonicMs() });
    }
  },
});

const monotonicMs = () => Number(process.hrtime.bigint()) / 1e6;

function tell(/** @type {{ files: string }} */ { files }, /** @type {object} */ event) {
  appendFileSync(join(files, 'fleet.events'), `${JSON.stringify(event)}\n`);
}

/** docs/guides/one-cron-job.md lists the possible costs. */
const losing = (/** @type {Fault} */ fault) => told('loss', fault);

const FLEET = { CHAOS_EVERY_S: '1', CHAOS_ZONE: 'UTC', CHAOS_CLASS: 'Reports1' };
const ROLLS = [
  {
    name: 'rolled out with another schedule',
    next: ({ CHAOS_EVERY_S }) => ({ CHAOS_EVERY_S: CHAOS_EVERY_S === '1' ? '2' : '1' }),
  },
  {
    name: 'rolled out with another zone',
    next: ({ CHAOS_ZONE }) => ({ CHAOS_ZONE: CHAOS_ZONE === 'UTC' ? 'Asia/Kolkata' : 'UTC' }),
  },
  {
    // Each rollout uses a new name: a class with an old name would have missed ticks.
    name: 'rolled out with another class',
    next: ({ CHAOS_CLASS }) => ({ CHAOS_CLASS: `Reports${Number(CHAOS_CLASS.slice(7)) + 1}` }),
  },
].map(({ name, next }) =>
  told('rolled', {
    name,
    level: 'process',
    apply: ({ fleet }) => fleet.update(next(/** @type {any} */ (fleet.parts.settings))),
  }),
);

/** Steps in both directions. All other clocks are correct in this fault. */
const MINUTES_MS = [-300_000, 300_000];
const OFF_MS = 4000;
const CLOCK = storeFault('clock of the store minutes off', async ({ clock }, { random }) => {
  clock.set(MINUTES_MS[Math.floor(random() * MINUTES_MS.length)] ?? 0);
  await sleep(OFF_MS);
  clock.set(0);
});

// The topologies.

/**
 * Jobs of each second, on locks that keep acknowledged data.
 * @param {new (folder: string) => any} Locks @param {string} name @param {string[]} faults
 */
const ofCron = (Locks, name, faults) =>
  class extends Locks {
    name = `cron jobs in ${name}`;
    worker = 'cron-worker.mjs';
    grants = 'runs';
    check = checkRuns;
    lastly = undefined;
    words = CRON_WORDS;
    least = { ids: 200, leases: 200 };
    faults = [...shared(...faults), ...NETWORK_FAULTS];
  };

const EFFECTS = `CREATE TABLE fences (job text PRIMARY KEY, token numeric, tick bigint);
  CREATE TABLE effects (job text, token numeric, tick bigint)`;

/**
 * Replicas with many jobs of each second. Their effects are rows of a table that compares tokens.
 * The store of their locks fails over and loses all data.
 * @param {new (folder: string) => any} Locks @param {string} name
 * @param {{ losses?: Fault[], others?: Fault[], jobCount: number }} parts
 */
const ofFleet = (Locks, name, { losses = [], others = [], jobCount }) =>
  class extends ofCron(Locks, name, []) {
    name = `a fleet of cron jobs in ${name}`;
    // The jobs need time to run.
    pace = { ...PACE, processCount: 3, pauseMs: { process: 6000, store: 12_000 } };
    least = { ids: 100 * jobCount, leases: 100 * jobCount };
    faults = [...losses.map(losing), ...others];
    effects = /** @type {Awaited<ReturnType<typeof startPostgres>> | undefined} */ (undefined);

    async start(/** @type {{ files: string }} */ parts) {
      this.files = parts.files;
      this.effects = await startPostgres();
      await this.asked(EFFECTS);
      const own = { CHAOS_JOBS: String(jobCount), CHAOS_EFFECTS: this.effects.url };
      this.settings = { ...this.settings, ...own };
      return super.start(parts);
    }

    async asked(/** @type {string} */ text) {
      const client = new pg.Client({ connectionString: this.effects?.url });
      await client.connect();
      const answer = await client.query(text);
      await client.end();
      return answer;
    }

    async stop() {
      const { rows } = await this.asked('SELECT job AS lock, tick, token FROM effects');
      for (const row of rows) tell(this, { kind: 'effect', ...row });
      await this.effects?.stop();
      await super.stop();
    }
  };

/** A failover without a loss counts as well. @param {Fault} fault @returns {Fault} */
const always = (fault) => ({ ...fault, apply: async (world) => void (await fault.apply(world)) });

/** How long after the processes the store opens. */
const LATE_MS = 5000;

/**
 * Two applications of two replicas each share their jobs. One job ends its process, and one runs by
 * the name of its class. Processes end at each stage of a run, and are rolled out.
 * @param {new (folder: string) => any} Locks @param {string} name
 * @param {{ losses?: Fault[], others?: Fault[] }} parts
 */
const ofReplicas = (Locks, name, parts) =>
  class extends ofFleet(Locks, name, { ...parts, jobCount: 4 }) {
    name = `replicas with cron jobs in ${name}`;
    // After a loss, a store grants nothing for as long as a lock lasts.
    pace = { ...PACE, pauseMs: { process: 1500, store: 10_000 } };
    least = { ids: 200, leases: 200 };
    // A process with a wrong clock would begin a new record at a wrong time.
    hasOneClock = this.hasOneClock || parts.losses !== undefined;
    faults = [...this.faults.map(always), ...ENDS, BLOCKED, ...ROLLS];

    async start(/** @type {{ files: string }} */ place) {
      this.settings = { ...this.settings, ...FLEET };
      const support = await super.start(place);
      tell(this, { kind: 'wall', aheadMs: Date.now() - monotonicMs() });
      this.proxy?.set('cut');
      setTimeout(() => this.proxy?.set('open'), LATE_MS);
      return support;
    }

    check = (/** @type {string} */ folder) => ({
      ...checkRuns(folder),
      breaches: checkFleet(folder),
    });
  };

/** Writes to disk before it answers, so a kill loses no data. */
class KeptMariadbLocks extends MariadbLocks {
  constructor(/** @type {string} */ folder) {
    super(folder);
    this.node.more = ['--innodb-flush-log-at-trx-commit=1'];
  }
}

/** Its clock is independent of the hosts. */
class ClockedRedisLocks extends Redis {
  hasOneClock = true;

  constructor(/** @type {string} */ folder) {
    super(folder);
    this.clock = new WallClock(join(folder, 'clock'));
    this.node.env = this.clock.env;
  }
}

const REDIS_STAYS = ['redis restarted with data', 'redis SIGSTOP', 'CLIENT PAUSE', 'CLIENT KILL'];
const POSTGRES_STAYS = ['postgres kill -9', 'postgres SIGSTOP', 'postgres backend killed'];
const MARIADB_STAYS = ['mariadb kill -9', 'mariadb SIGSTOP', 'mariadb connections killed'];
const ETCD_STAYS = ['etcd leader killed', 'etcd leader SIGSTOP', 'etcd all members killed'];

/** @type {Record<string, new (folder: string) => any>} */
export const CRON = {
  cron: ofCron(Redis, 'redis', REDIS_STAYS),
  'cron-postgres': ofCron(PostgresLocks, 'postgres', POSTGRES_STAYS),
  'cron-mariadb': ofCron(KeptMariadbLocks, 'mariadb', MARIADB_STAYS),
  'cron-etcd': ofCron(EtcdLocks, 'etcd', ETCD_STAYS),
  'cron-fleet': ofFleet(RedisBySentinel, 'redis by sentinel', {
    losses: [FAILED_OVER, ...shared('FLUSHALL')],
    others: shared('CLIENT PAUSE', 'CLIENT KILL'),
    jobCount: 20,
  }),
  'cron-fleet-postgres': ofFleet(StandbyLocks, 'postgres with a standby', {
    losses: [...STANDBY_FAULTS, DELETED, TABLE_CREATED],
    jobCount: 5,
  }),
  // A loss while the clock is wrong costs tokens, as the guarantees state.
  'cron-replicas': ofReplicas(ClockedRedisLocks, 'redis', {
    others: [CLOCK, ...shared('redis restarted with data')],
  }),
  'cron-replicas-postgres': ofReplicas(StandbyLocks, 'postgres with a standby', {
    losses: [...STANDBY_FAULTS, DELETED],
  }),
  'cron-replicas-mariadb': ofReplicas(KeptMariadbLocks, 'mariadb', {
    others: shared('mariadb kill -9', 'mariadb SIGSTOP', 'mariadb connections killed'),
  }),
  'cron-replicas-etcd': ofReplicas(EtcdLocks, 'etcd', {
    losses: [DELETED, OLD_COPY],
    others: shared('etcd leader killed', 'etcd all members killed'),
  }),
  'cron-replicas-sqlite': ofReplicas(SqliteLocks, 'sqlite', {
    losses: SQLITE_FAULTS.filter(({ name }) => name === 'sqlite rows deleted'),
  }),
};
