/**
 * `snowflake sql`: what it refuses to print.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import {
  BitLayout,
  layouts,
  MemoryRegistry,
  MemorySupport,
  type RunningSnowflake,
  startSnowflake,
} from 'nestjs-snowflake';
import { command } from '../run-command.js';

describe('snowflake sql', () => {
  it('names layout, worker id and call at the top', async () => {
    const { code, lines } = await command(['sql', '--worker', '1023']);
    expect(code).toBe(0);
    expect(lines.slice(0, 2)).toEqual([
      '-- Ids t41-w10-s12/1ms@1704067200000 of worker 1023, which no generator may lease.',
      '-- SELECT public.snowflake_id();',
    ]);
  });

  it.each([
    [[], 'needs --worker'],
    [['--worker', '1024'], '0 to 1023'],
    [['--worker', '-1'], 'whole number'],
    [['--worker', '1', '--dialect', 'oracle'], 'postgres, mariadb'],
    [['--worker', '1', '--dialect', 'constructor'], 'postgres, mariadb'],
    [['--worker', '1', '--dialect', 'MySQL'], 'MySQL has no sequences'],
    [['--worker', '1', '--name', `a'; DROP TABLE b; --`], 'lower-case letters'],
    [['--worker', '1', '--name', 'a.b.c'], 'lower-case letters'],
    [['--worker', '1', '--name', 'x'.repeat(60)], 'lower-case letters'],
  ])('refuses %j', async (args, said) => {
    const { code, out, err } = await command(['sql', ...args]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(said);
  });
});

/*
 * Worker ids that no process leases, for ids made in SQL: a field above the worker id splits them,
 * and changes nothing else of the layout.
 */
describe('reserved workers', () => {
  const layout = new BitLayout({
    fields: [
      ['timestamp', 41],
      ['pool', 1],
      ['worker', 9],
      ['sequence', 12],
    ],
  });

  // Hundreds of leases, of which each would be logged.
  beforeAll(() => Logger.overrideLogger(['error']));
  afterAll(() => Logger.overrideLogger(['log', 'warn', 'error']));

  describe('a layout with a pool', () => {
    it('is the default, by its fingerprint and its ids', () => {
      expect(layout.fingerprint).toBe(layouts.snowflake().fingerprint);
      const id = layout.compose({ timestampMs: Date.now(), workerId: 1023, sequence: 5 });
      expect(layouts.snowflake().parse(id)).toMatchObject({ workerId: 1023, sequence: 5 });
      expect(layout.parse(id).fields).toMatchObject({ pool: 1, worker: 511 });
    });

    it('leases 0 to 511 and no other, in a registry that runs with the default', async () => {
      const registry = new MemoryRegistry();
      const running: RunningSnowflake[] = [];
      const start = async (options: object) => {
        const support = new MemorySupport({ registry });
        const one = await startSnowflake({ support, startTimeoutMs: 200, ...options });
        running.push(one);
        return layout.parse(one.ids.nextId()).workerId;
      };
      try {
        expect(await start({})).toBe(0);
        const pooled: number[] = [];
        for (let at = 1; at < 512; at++) {
          pooled.push(await start({ layout, workerFields: { pool: 0 } }));
        }
        expect(Math.max(...pooled)).toBe(511);
        expect(new Set(pooled).size).toBe(511);
        await expect(start({ layout, workerFields: { pool: 0 } })).rejects.toThrow(/worker id/);
        expect(await start({ layout, workerFields: { pool: 1 } })).toBe(512);
      } finally {
        await Promise.all(running.map((one) => one.close()));
      }
    });
  });
});
