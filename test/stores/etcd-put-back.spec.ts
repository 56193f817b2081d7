/**
 * The data folders of an etcd that are put back to older copies, as volumes and virtual machines
 * are: nothing in them tells, whoever asks first has never seen it, and no range is granted twice.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EtcdCluster } from '../chaos/stores/etcd-cluster.mjs';
import { EtcdLab } from './etcd-lab.js';

const lab = new EtcdLab();
afterEach(() => lab.end());

const ONE = { workerIdMin: 0, workerIdMax: 0 };

describe.each([1, 3])('a registry in %d member(s)', (memberCount) => {
  const cluster = new EtcdCluster();
  beforeAll(() => cluster.create(memberCount));
  afterAll(() => cluster.stop());

  it('grants nothing twice where all folders were put back', async () => {
    const { endpoint } = await lab.proxy(`http://127.0.0.1:${cluster.members[0]!.port}`);
    const options = { endpoints: [endpoint], namespace: randomUUID() };
    const first = lab.support(options);
    await lab.lease(first, { workerIdMin: 5, workerIdMax: 5 });
    await cluster.copyFolders();
    const forgotten = await lab.lease(first, ONE);
    await cluster.restore();
    const { grant } = await lab.lease(lab.support(options), ONE);
    expect(grant.floorMs).toBeGreaterThanOrEqual(forgotten.grant.ceilingMs);
  });
});
