/**
 * `snowflake layout move` on real servers: a fleet moves to another layout and back while it makes
 * ids, none of them twice, and no call for an id is refused.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { startSnowflake, type RunningSnowflake } from 'nestjs-snowflake';
import { BitLayout, layouts } from 'nestjs-snowflake/core';
import { registryTable } from 'nestjs-snowflake/sql';
import { quickFolder } from '../support/made-once.mjs';
import { SqlLab } from '../stores/sql-lab.js';
import { until } from '../until.js';
import { command } from './run-command.js';

const FROM = layouts.snowflake();
const TO = new BitLayout({
  epoch: FROM.epochMs,
  fields: [
    ['timestamp', 41],
    ['worker', 12],
    ['sequence', 10],
  ],
});
const FLEET_COUNT = 12;
/** A folder serves the processes of one host, and each of its writes waits for a disk. */
const FOLDER_FLEET_COUNT = 4;
const TTL_MS = 10_000;
const MINT_EVERY_MS = 20;

/** Several processes' worth of generators, which make ids all the time. */
class Fleet {
  readonly ids: bigint[] = [];
  refusedCount = 0;
  private readonly members: { layout: BitLayout; running: RunningSnowflake }[] = [];
  private readonly minting: NodeJS.Timeout;

  constructor(private readonly url: string) {
    this.minting = setInterval(() => {
      for (const { running } of this.members) {
        try {
          for (let n = 0; n < 20; n++) this.ids.push(running.ids.nextId());
        } catch {
          this.refusedCount++;
        }
      }
    }, MINT_EVERY_MS);
  }

  async start(layout: BitLayout): Promise<void> {
    const lease = { leaseTtlMs: TTL_MS, refreshAliveIntervalMs: 1000, reserveMs: 1000 };
    const patient = { startTimeoutMs: 600_000, callTimeoutMs: 4000 };
    const running = await startSnowflake({ support: this.url, layout, ...lease, ...patient });
    this.members.push({ layout, running });
  }

  /** As a rollout does it: one more, then one less. */
  async roll(to: BitLayout, count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await this.start(to);
      const at = this.members.findIndex(({ layout }) => layout !== to);
      const [left] = this.members.splice(at, 1);
      await left!.running.close();
    }
  }

  get workerIds(): number[] {
    return this.members.map(({ running }) => running.ids.status.workerId!);
  }

  async close(): Promise<void> {
    clearInterval(this.minting);
    await Promise.all(this.members.splice(0).map(({ running }) => running.close()));
  }
}

const lab = new SqlLab();
const folder = quickFolder('layout-move');
const own = `namespace=${randomUUID()}`;
const ofSql = `${own}&table=${lab.table}&replicated=false`;

beforeAll(() =>
  Promise.all([
    lab.pool().query(registryTable('postgres', lab.table)),
    lab.mysql().query(registryTable('mysql', lab.table)),
  ]),
);

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  await Promise.all(closing.map((close) => close()));
  const sql = `DROP TABLE IF EXISTS ${lab.table}`;
  await Promise.all([lab.pool().query(sql), lab.mysql().query(sql)]);
  await lab.end();
  rmSync(folder, { recursive: true });
});

const STORES = [
  ['Redis', FLEET_COUNT, `${process.env['REDIS_URL']}?${own}`],
  ['PostgreSQL', FLEET_COUNT, `${process.env['DATABASE_URL']}?${ofSql}`],
  ['MariaDB', FLEET_COUNT, `${process.env['MYSQL_URL']}?${ofSql}`],
  ['etcd', FLEET_COUNT, `${process.env['ETCD_URL']}?${own}`],
  ['a folder', FOLDER_FLEET_COUNT, `file:${folder}/registry?${own}`],
] as const;

describe('snowflake layout move', () => {
  it.each(STORES)(
    'moves a fleet on %s to another layout, and back',
    async (_store, fleetCount, url) => {
      const move = (...args: string[]) =>
        command(['layout', 'move', '--support', url, '--yes', ...args]);
      expect((await move('--to', TO.fingerprint)).err).toContain('There is no registry yet');
      const fleet = new Fleet(url);
      closing.push(() => fleet.close());
      for (let n = 0; n < fleetCount; n++) await fleet.start(FROM);

      const dry = await move('--to', TO.fingerprint, '--dry');
      expect(dry).toMatchObject({ code: 0 });
      expect(dry.out).toContain('has the worker ids 2048 to 4095');
      expect(await move('--to', TO.fingerprint)).toMatchObject({ code: 0 });
      expect((await move('--to', TO.fingerprint)).err).toContain('side by side already');
      const doctor = await command(['doctor', '--support', url]);
      expect(doctor.out).toContain('A move is under way');
      await fleet.roll(TO, fleetCount / 2);
      const early = await move('--end', TO.fingerprint);
      expect([early.code, early.err.includes('still hold worker ids')]).toEqual([1, true]);
      // Who held another worker id of the old layout changes it at a renewal.
      await until(() => Math.max(...fleet.workerIds.slice(0, fleetCount / 2)) < 512);
      expect(Math.min(...fleet.workerIds.slice(fleetCount / 2))).toBeGreaterThanOrEqual(2048);
      await fleet.roll(TO, fleetCount / 2);
      expect(await move('--end', TO.fingerprint)).toMatchObject({ code: 0 });

      // Back the same way, undone half way, and once more to the end.
      expect(await move('--to', FROM.fingerprint)).toMatchObject({ code: 0 });
      await fleet.roll(FROM, fleetCount / 2);
      await fleet.roll(TO, fleetCount / 2);
      expect(await move('--end', TO.fingerprint)).toMatchObject({ code: 0 });
      expect((await move('--end', TO.fingerprint)).err).toContain('No move is under way');
      await fleet.close();
      expect(fleet.refusedCount).toBe(0);
      expect(fleet.ids.length).toBeGreaterThan(5000);
      expect(new Set(fleet.ids).size).toBe(fleet.ids.length);
    },
  );
});
