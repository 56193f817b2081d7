/** A fleet of short leases on a registry that was created for long ones. */
import { expect, it } from '@jest/globals';
import { MemoryRows, MemorySupport, startSnowflake } from 'nestjs-snowflake';
import { SettableTime } from 'nestjs-snowflake/testing';
import { leaseOf } from '../../lib/cli/commands/release.js';
import { RowInspector } from '../../lib/registry/row-inspector.js';

it('names --ttl, the reason for the wait', async () => {
  const time = new SettableTime();
  const rows = new MemoryRows(time);
  const support = new MemorySupport({ rows });
  rows.rows.clear();
  const created = { ...leaseOf({}), ttlMs: 60_000 };
  await new RowInspector(rows, 'memory', 'memory').release(created, undefined);
  const leases = { leaseTtlMs: 10_000, refreshAliveIntervalMs: 2000, reserveMs: 4000 };
  const starting = startSnowflake({ support, ...leases, clock: time, timers: time });
  const failed = starting.catch((error: unknown) => error);
  await time.advance(31_000);
  expect(await failed).toMatchObject({
    code: 'NOT_READY',
    message: expect.stringMatching(/keeps 6\d000 ms away.*leaseTtlMs is 10000 here.*--ttl/),
  });
});
