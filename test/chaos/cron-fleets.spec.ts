/**
 * Replicas with cron jobs on each store of locks, once through every fault. Processes are killed at
 * nine stages of a run, pause, block, and are rolled out with another schedule, zone and class.
 * Stores open late, lose data, fail over, and report a wrong time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshSeeds, seedsFrom } from '../seeds.mjs';
import { CRON, ENDS } from './cron-topologies.mjs';
import { reportText } from './report.mjs';
import { unpackLibrary } from './rules.mjs';
import { runTopology } from './run-topology.mjs';

type Result = Awaited<ReturnType<typeof runTopology>>;
type Applied = readonly { readonly name: string; readonly count: number }[];

const SLOW_MS = 1_800_000;
/** An idle machine needs a minute and a half. */
const SECONDS_MAX = 900;
const GOAL = 150;
const NAMES = Object.keys(CRON).filter((name) => name.startsWith('cron-replicas'));
const [SEED] = freshSeeds('replicas with cron jobs', 1);

const folder = mkdtempSync(join(tmpdir(), 'snowflake-replicas-'));
let app: string;
const results = new Map<string, Promise<Result>>();

beforeAll(async () => {
  app = await unpackLibrary(folder, undefined);
  const ran = (name: string) => {
    const own = join(folder, name);
    const topology = Object.assign(new CRON[name]!(own), { client: 'ioredis' });
    const terms = { seconds: SECONDS_MAX, seed: `${SEED} ${name}`, isPaired: false, goal: GOAL };
    return runTopology({ topology, folder: own, app, ...terms });
  };
  for (const name of NAMES) results.set(name, ran(name));
  await Promise.allSettled(results.values());
}, SLOW_MS);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each(NAMES)(`%s, by seed ${SEED} from ${seedsFrom}`, (name) => {
  it('run each tick once, and lose none except those that the rules name', async () => {
    const result = await results.get(name)!;
    const { duplicates, disorderCount, breaches } = result;
    const found = { duplicates, disorderCount, breaches };
    expect({ ...found, text: reportText([result]) }).toMatchObject({
      duplicates: [],
      disorderCount: 0,
      breaches: [],
    });
  });

  it('went through every fault and each stage of a run', async () => {
    const { leaseCount, ...result } = await results.get(name)!;
    const faults: Applied = result.faults;
    expect(faults.filter(({ count }) => count === 0)).toEqual([]);
    const names = faults.map(({ name: fault }) => fault);
    expect(names).toEqual(expect.arrayContaining(ENDS.map(({ name: fault }) => fault)));
    expect(leaseCount).toBeGreaterThanOrEqual(GOAL);
  });
});

const ZONE = `
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CronJobs, LockModule } from 'nestjs-snowflake/lock';
class App {}
Module({ imports: [LockModule.forRoot({ locks: 'memory:' })] })(App);
const app = await NestFactory.createApplicationContext(App, { logger: false });
app.get(CronJobs).add('daily', '0 3 * * *', () => undefined);
const [{ dueMs }] = app.get(CronJobs).status();
console.log(new Date(dueMs).toJSON().slice(11), new Date(0).getHours());
await app.close();
`;

it.each([
  ['UTC', 0],
  ['Asia/Tokyo', 9],
])('a job without a zone is due by UTC in a process with the zone %s', (zone, hour) => {
  const options = { cwd: app, env: { ...process.env, TZ: zone }, encoding: 'utf8' } as const;
  const told = execFileSync(process.execPath, ['--input-type=module', '-e', ZONE], options);
  expect(told).toBe(`03:00:00.000Z ${hour}\n`);
});
