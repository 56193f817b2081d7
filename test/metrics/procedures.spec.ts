/**
 * Real generators run each documented procedure, and promtool checks their metrics against the
 * alert rules. A healthy run fires no alert, and a broken run fires the right one.
 */
import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { requireServers } from '../../scripts/servers/binaries.mjs';
import { quickFolder } from '../support/made-once.mjs';
import { ROOT } from '../tidy/tree.js';
import { SeededRandom } from '../../lib/testing/contract/harness.js';
import {
  inRegion,
  LESS_NARROW,
  MeasuredFleet,
  NARROW,
  type StartOptions,
  USUAL,
  WIDE,
} from './measured-fleet.js';

type Play = (fleet: MeasuredFleet) => Promise<unknown>;

const MINUTE_MS = 60_000;

/** Two processes that have run for a while. */
async function begun(fleet: MeasuredFleet, options: StartOptions = {}, store = fleet.store()) {
  await fleet.start('a', store, options);
  await fleet.start('b', store, options);
  await fleet.pass(10 * MINUTE_MS);
  return store;
}

/** The steps, and the alerts that detect an error in them. */
interface Procedure {
  readonly healthy: Play;
  /** The error, its steps, and the alerts that fire. */
  readonly broken: readonly (readonly [what: string, play: Play, alerts: readonly string[]])[];
  /** Tickets that are part of the procedure. */
  readonly tickets?: readonly string[];
}

/** No process can renew its lease, and each one reaches the end of its range. */
const AWAY = [
  'SnowflakeLeaseRunsOut',
  'SnowflakeNotActive',
  'SnowflakeRenewalOverdue',
  'SnowflakeRenewalsFail',
];

const PROCEDURES: Readonly<Record<string, Procedure>> = {
  'a rollout': {
    async healthy(fleet) {
      const store = await begun(fleet);
      await fleet.rollOut(store);
      await fleet.pass(20 * MINUTE_MS);
    },
    broken: [
      [
        'another deployment has another store',
        async (fleet) => {
          await begun(fleet);
          await fleet.start('c', fleet.store(), { job: 'worker' });
          await fleet.pass(20 * MINUTE_MS);
        },
        ['SnowflakeTwoRegistries'],
      ],
      [
        'no worker ID is free',
        async (fleet) => {
          const narrow = { layout: NARROW };
          const store = await begun(fleet, narrow);
          await fleet.rollOut(store, narrow);
          await fleet.pass(20 * MINUTE_MS);
        },
        ['SnowflakeWorkerIdsScarce'],
      ],
    ],
  },
  'two applications with a store each': {
    async healthy(fleet) {
      await begun(fleet);
      await fleet.start('c', fleet.store(), { job: 'stock', namespace: 'stock' });
      // Without a namespace, the application name distinguishes them.
      const noName = { namespace: 'default' };
      await fleet.start('d', fleet.store(), { ...noName, application: 'd', layout: NARROW });
      await fleet.start('e', fleet.store(), { ...noName, application: 'e' });
      await fleet.pass(20 * MINUTE_MS);
    },
    broken: [],
  },
  'a move to another layout': {
    async healthy(fleet) {
      const store = await begun(fleet);
      await fleet.moveLayout(store, USUAL, WIDE);
      await fleet.pass(5 * MINUTE_MS);
      await fleet.rollOut(store, { layout: WIDE });
      await fleet.endLayoutMove(store, WIDE);
      await fleet.pass(20 * MINUTE_MS);
    },
    broken: [
      [
        'the old layout has no free worker ID in its half',
        async (fleet) => {
          const store = fleet.store();
          await fleet.start('a', store, { layout: NARROW });
          await fleet.pass(10 * MINUTE_MS);
          await fleet.moveLayout(store, NARROW, LESS_NARROW);
          await fleet.pass(20 * MINUTE_MS);
        },
        ['SnowflakeWorkerIdsScarce'],
      ],
    ],
  },
  'a move to another store': {
    async healthy(fleet) {
      const [from, to] = [await begun(fleet), fleet.store()];
      await fleet.moveStore(from, to, 'begin');
      await fleet.pass(20 * MINUTE_MS);
      await fleet.start('c', to);
      await fleet.pass(20 * MINUTE_MS);
      await fleet.rollOut(to);
      await fleet.pass(20 * MINUTE_MS);
      await fleet.moveStore(from, to, 'end');
      await fleet.pass(20 * MINUTE_MS);
    },
    broken: [
      [
        'a deployment uses a third store',
        async (fleet) => {
          const [from, to] = [await begun(fleet), fleet.store()];
          await fleet.moveStore(from, to, 'begin');
          await fleet.pass(5 * MINUTE_MS);
          await fleet.start('c', to);
          await fleet.start('d', fleet.store(), { job: 'worker' });
          await fleet.pass(20 * MINUTE_MS);
        },
        ['SnowflakeTwoRegistries'],
      ],
      [
        'one of the two stores is split',
        async (fleet) => {
          const [from, to] = [await begun(fleet), fleet.store()];
          await fleet.moveStore(from, to, 'begin');
          await fleet.pass(5 * MINUTE_MS);
          await fleet.start('c', to);
          await fleet.start('d', fleet.copyOf(from));
          await fleet.pass(20 * MINUTE_MS);
        },
        ['SnowflakeTwoRegistries'],
      ],
    ],
  },
  'a failover': {
    async healthy(fleet) {
      const store = await begun(fleet);
      const kept = store.copy();
      store.isAway = true;
      await fleet.pass(15_000);
      store.replace(kept, 'replica');
      store.isAway = false;
      await fleet.pass(20 * MINUTE_MS);
    },
    tickets: ['SnowflakeStoreForgets'],
    broken: [
      [
        'some processes stay with the old server',
        async (fleet) => {
          const store = await begun(fleet);
          await fleet.start('c', fleet.copyOf(store));
          await fleet.pass(20 * MINUTE_MS);
        },
        ['SnowflakeTwoRegistries'],
      ],
    ],
  },
  'a restart of the store': {
    async healthy(fleet) {
      const store = await begun(fleet);
      store.isAway = true;
      await fleet.pass(15_000);
      store.isAway = false;
      await fleet.pass(20 * MINUTE_MS);
    },
    broken: [
      [
        'the store stays down',
        async (fleet) => {
          const store = await begun(fleet);
          store.isAway = true;
          await fleet.pass(20 * MINUTE_MS);
        },
        AWAY,
      ],
    ],
  },
  'a restored backup': {
    async healthy(fleet) {
      const store = await begun(fleet);
      const backup = store.copy();
      await fleet.pass(10 * MINUTE_MS);
      store.replace(backup, 'restored');
      await fleet.pass(20 * MINUTE_MS);
    },
    tickets: ['SnowflakeStoreForgets'],
    broken: [
      [
        'the restored store runs next to the current one',
        async (fleet) => {
          const store = await begun(fleet);
          const restored = fleet.copyOf(store);
          await fleet.pass(10 * MINUTE_MS);
          await fleet.start('c', restored);
          await fleet.pass(20 * MINUTE_MS);
        },
        ['SnowflakeTwoRegistries'],
      ],
    ],
  },
  'a region that comes and goes': {
    async healthy(fleet) {
      const regions = fleet.store();
      await fleet.start('a', fleet.store(), { ...inRegion(1), regions });
      await fleet.pass(10 * MINUTE_MS);
      await fleet.start('b', fleet.store(), { ...inRegion(2), regions });
      await fleet.pass(10 * MINUTE_MS);
      await fleet.stop('b');
      await fleet.pass(20 * MINUTE_MS);
    },
    broken: [
      [
        'two regions have the same number',
        async (fleet) => {
          const regions = fleet.store();
          await fleet.start('a', fleet.store(), { ...inRegion(1), regions });
          await fleet.pass(10 * MINUTE_MS);
          regions.isAway = true;
          await fleet.start('b', fleet.store(), { ...inRegion(1), regions });
          await fleet.pass(10 * MINUTE_MS);
          regions.isAway = false;
          await fleet.pass(20 * MINUTE_MS);
        },
        ['SnowflakeRegionNumberTwice', 'SnowflakeTwoRegistries'],
      ],
    ],
  },
  'scaling to zero': {
    async healthy(fleet) {
      const store = await begun(fleet);
      await fleet.stop('a');
      await fleet.stop('b');
      await fleet.pass(20 * MINUTE_MS);
      await begun(fleet, {}, store);
    },
    broken: [
      [
        'a process still runs when the store is switched off',
        async (fleet) => {
          const store = await begun(fleet);
          await fleet.stop('a');
          store.isAway = true;
          await fleet.pass(20 * MINUTE_MS);
        },
        AWAY,
      ],
    ],
  },
};

const RULES = `${ROOT}/docs/operating/monitoring/alert-rules.yaml`;
const folder = quickFolder('procedures');
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  const random = new SeededRandom(1);
  jest.spyOn(Math, 'random').mockImplementation(() => random.next());
});

/** The names of all alerts that fire at any time. */
async function firedIn(play: Play): Promise<string[]> {
  const fleet = new MeasuredFleet();
  await play(fleet);
  const { input, seconds } = await fleet.measured();
  const all = `count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${seconds}s]))`;
  const test = {
    interval: '15s',
    input_series: input,
    promql_expr_test: [{ expr: all, eval_time: `${seconds}s`, exp_samples: [] }],
  };
  const file = `${folder}/tests.json`;
  const asked = { rule_files: [RULES], evaluation_interval: '15s', tests: [test] };
  writeFileSync(file, JSON.stringify(asked));
  const { promtool } = requireServers(['promtool']);
  const said = await promisify(execFile)(promtool, ['test', 'rules', file]).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }: { stdout: string; stderr: string }) => `${stdout}${stderr}`,
  );
  const got = /got:(.*)/s.exec(said)?.[1] ?? '';
  if (got === '' && !said.includes('SUCCESS')) throw new Error(said);
  return [...new Set([...got.matchAll(/alertname="(\w+)"/g)].map(([, name]) => name!))].toSorted();
}

describe.each(Object.entries(PROCEDURES))('%s', (_, { healthy, broken, tickets = [] }) => {
  it('fires no alert', async () => {
    expect(await firedIn(healthy)).toEqual(tickets);
  });

  if (broken.length > 0)
    it.each(broken)('is detected if %s', async (_what, play, alerts) => {
      expect(await firedIn(play)).toEqual(alerts);
    });
});
