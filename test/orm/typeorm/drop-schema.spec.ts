/**
 * What the guide warns of: dropSchema takes the table of a registry away with all others, and
 * whoever leases there is told which command creates it.
 */
import { expect, it } from '@jest/globals';
import { DataSource } from 'typeorm';
import { registryTable } from '../../../lib/stores/sql/index.js';
import { command } from '../../cli/run-command.js';
import { ownPostgres } from '../drizzle/support/own-database.js';

it('dropSchema drops the table of the registry, which is then named as missing', async () => {
  const { url, drop } = await ownPostgres();
  const workers = () => command(['workers', '--support', `${url}?namespace=shop&replicated=false`]);
  const before = new DataSource({ type: 'postgres', url });
  await before.initialize();
  await before.query(registryTable('postgres'));
  await before.destroy();
  expect((await workers()).err).not.toContain('registry create');
  const dropping = new DataSource({ type: 'postgres', url, dropSchema: true });
  await dropping.initialize();
  await dropping.destroy();
  const { code, err } = await workers();
  expect([code, err]).toEqual([1, expect.stringContaining('snowflake registry create')]);
  await drop();
});
