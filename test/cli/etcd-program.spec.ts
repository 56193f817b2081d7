/**
 * The command line on a registry in an etcd that is real.
 */
import { afterAll, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { EtcdLab } from '../stores/etcd-lab.js';
import { command } from './run-command.js';

const lab = new EtcdLab();
afterAll(() => lab.end());

it('creates, shows, checks and releases a registry', async () => {
  const namespace = randomUUID();
  const store = ['--support', `${process.env['ETCD_URL']!}?namespace=${namespace}`];
  const none = await command(['workers', ...store]);
  expect(none.out + none.err).toContain(`There is no registry yet (snowflake/${namespace}/)`);
  // Looking changes nothing.
  expect(await lab.keys(namespace).all()).toEqual(new Map());
  const created = await command(['registry', 'create', '--yes', ...store]);
  expect(created).toMatchObject({ code: 0 });
  const { endpoint } = await lab.proxy();
  const { lease } = await lab.lease(lab.support({ endpoints: [endpoint], namespace }));
  const workers = await command(['workers', ...store]);
  expect(workers.out).toContain(String(lease.workerId));
  const doctor = await command(['doctor', ...store]);
  expect(doctor.out).toMatch(/etcd 3\.\d/);
  expect(doctor.out).toContain('whole seconds');
  const released = await command(['release', String(lease.workerId), '--yes', ...store]);
  expect(released).toMatchObject({ code: 0 });
  expect([...(await lab.keys(namespace).all()).keys()]).not.toContain(`t${lease.token}`);
});
