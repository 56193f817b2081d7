/**
 * Losses of a real etcd, and their detection: a snapshot restored with the same token, and deleted
 * keys. Also a commit that stalls until its registry has changed, and an answer that never arrives.
 */
import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { etcdLocks } from '../../lib/stores/etcd/index.js';
import { EtcdClient } from '../../lib/stores/etcd/etcd-client.js';
import { settingsOf } from '../../lib/stores/etcd/etcd-options.js';
import { EtcdStore } from '../../lib/stores/etcd/etcd-store.js';
import { requireServers } from '../../scripts/servers/binaries.mjs';
import { unprivileged } from '../../scripts/servers/server-process.mjs';
import {
  etcdMembers,
  initialCluster,
  startEtcd,
  startEtcdMember,
} from '../../scripts/servers/start-etcd.mjs';
import { EtcdCluster } from '../chaos/stores/etcd.mjs';
import { keptTimeIn, TIME_IS_KEPT } from '../registry/walk-store.js';
import { heldIn, namedLock } from '../lock/held-locks.js';
import { until } from '../until.js';
import { endpointOf, type EtcdKeys, EtcdLab, type ProxyCall } from './etcd-lab.js';
import { failureOf, held, request } from './redis-lab.js';

describe('etcd losses', () => {
  const lab = new EtcdLab();
  afterEach(() => lab.end());

  const NONE = { headerVersion: undefined, headerNumber: 0n };
  const ONE = { workerIdMin: 0, workerIdMax: 0 };

  describe('a snapshot that is restored with the same token', () => {
    /**
     * A member that can be restored from a copy of itself, with the same name, address and token.
     */
    async function restorable() {
      const [member] = await etcdMembers();
      const folder = lab.folder();
      const { etcdctl } = requireServers(['etcd', 'etcdctl']);
      const endpoint = `http://127.0.0.1:${member!.port}`;
      let data = 'first';
      const started = () => startEtcdMember(member!, [member!], { data: join(folder, data) });
      let server = await started();
      lab.ends(() => server.stop());
      const command = (...args: string[]) => {
        const env = { ...process.env, ETCDCTL_API: '3' };
        const { status, stderr } = spawnSync(etcdctl, args, {
          env,
          encoding: 'utf8',
          ...unprivileged(),
        });
        expect({ status, args, stderr }).toMatchObject({ status: 0 });
      };
      const copy = join(folder, 'copy');
      return {
        endpoint,
        save: () => command('--endpoints', endpoint, 'snapshot', 'save', copy),
        async restore() {
          await server.stop();
          data = 'second';
          const peer = `http://127.0.0.1:${member!.peerPort}`;
          const names = ['--name', member!.name, '--initial-cluster', initialCluster([member!])];
          const token = ['--initial-cluster-token', 'snowflake'];
          const peers = ['--initial-advertise-peer-urls', peer];
          command(
            'snapshot',
            'restore',
            copy,
            ...names,
            ...token,
            ...peers,
            '--data-dir',
            join(folder, data),
          );
          server = await started();
        },
      };
    }

    it.each([
      ['by an earlier client', false, false],
      ['by an earlier client, through a gateway that kept the connection', false, true],
      ['by a new client', true, false],
    ])('detects the loss %s', async (_who, isStranger, isKept) => {
      const etcd = await restorable();
      const proxy = await lab.proxy(etcd.endpoint);
      const endpoints = [proxy.endpoint];
      const namespace = randomUUID();
      const first = lab.support({ endpoints, namespace });
      await lab.lease(first, { workerIdMin: 5, workerIdMax: 5 });
      const clusterId = (await lab.keys(namespace, etcd.endpoint).all()).get('header');
      etcd.save();
      const forgotten = await lab.lease(first, ONE);
      await etcd.restore();
      if (!isKept) proxy.hangUp();
      const next = isStranger ? lab.support({ endpoints, namespace }) : first;
      const { grant } = await lab.lease(next, ONE);
      expect(grant.floorMs).toBeGreaterThanOrEqual(forgotten.grant.ceilingMs);
      // The ID of the cluster alone would not show this.
      const after = (await lab.keys(namespace, etcd.endpoint).all()).get('header')!;
      expect(after.split('.')[0]).toBe(clusterId!.split('.')[0]);
    });

    it('reports the loss to a concurrent writer, whose write does not count', async () => {
      const etcd = await restorable();
      const proxy = await lab.proxy(etcd.endpoint);
      const settings = settingsOf({ endpoints: [proxy.endpoint], requestTimeoutMs: 30_000 });
      const store = new EtcdStore(settings, new EtcdClient(settings));
      lab.ends(() => store.close());
      const empty = await store.read({ keys: [HEADER_KEY] });
      const header = { key: HEADER_KEY, number: 0n, text: '{}' };
      const rows = [{ row: { key: '1', number: 7n, text: '{}' }, version: undefined }];
      etcd.save();
      await etcd.restore();
      proxy.hangUp();
      // Opens a new connection, which no call has checked yet.
      await store.readAll();
      const { server } = empty;
      const error = await failureOf(store.write({ server, ...NONE, header, rows }));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { refusal: 'lost' } });
      expect((await store.read({ keys: [HEADER_KEY, '1'] })).server).not.toBe(server);
    });
  });

  describe('deleted keys', () => {
    it.each([
      ['the header', async (keys: ReturnType<EtcdLab['keys']>) => keys.delete('header')],
      ['all of them', async (keys: ReturnType<EtcdLab['keys']>) => keys.deleteAll()],
    ])('%s: starts no range inside a forgotten one', async (_which, remove) => {
      const { endpoint } = await lab.proxy();
      const keys = lab.keys();
      const support = lab.support({ endpoints: [endpoint], namespace: keys.namespace });
      const { grant } = await lab.lease(support, ONE);
      await remove(keys);
      const next = await lab.lease(support, ONE);
      expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
      expect(next.grant.mark!.incarnation).not.toBe(grant.mark!.incarnation);
    });

    it('one row: its holder proves the loss and gets a later range', async () => {
      const { endpoint } = await lab.proxy();
      const keys = lab.keys();
      const support = lab.support({ endpoints: [endpoint], namespace: keys.namespace });
      const { lease, grant } = await lab.lease(support, ONE);
      await keys.delete('w0000000000');
      expect(await support.refreshAlive(lease)).toMatchObject({ status: 'unknown' });
      const next = await lab.lease(support, ONE);
      expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    });

    it('does not lease the worker ID of a corrupt row', async () => {
      const keys = lab.keys();
      const support = lab.support({ namespace: keys.namespace });
      await keys.put('w0000000000', 'hello');
      expect(await support.getNextWorkId(request(ONE))).toMatchObject({ status: 'none-free' });
    });

    it('refuses a corrupt header and leaves it unchanged', async () => {
      const keys = lab.keys();
      const support = lab.support({ namespace: keys.namespace });
      await keys.put('header', 'hello');
      const error = await failureOf(support.getNextWorkId(request(ONE)));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
      expect((await keys.all()).get('header')).toBe('hello');
    });
  });

  /** A gateway that removes some comparisons of a transaction, like a bug in the support. */
  const withoutCompare = (lost: (compare: { key: string }) => boolean) => {
    return async (call: ProxyCall) => {
      const body = JSON.parse(call.body) as { compare?: { key: string }[] };
      const compare = (body.compare ?? []).filter((one) => !lost(one));
      const sent = call.body.includes('"compare"')
        ? JSON.stringify({ ...body, compare })
        : call.body;
      return call.pass(sent);
    };
  };
  const isOfHeader = ({ key }: { key: string }) => atob(key).endsWith('/header');

  describe('a commit that stalls', () => {
    /** Reads an empty registry. Before its write, others create one, use it, and lose it. */
    async function stalled(
      endpoint: string,
      lose: (keys: ReturnType<EtcdLab['keys']>) => Promise<void>,
    ) {
      const keys = lab.keys();
      const { namespace } = keys;
      const settings = settingsOf({ endpoints: [endpoint], namespace, requestTimeoutMs: 30_000 });
      const store = new EtcdStore(settings, new EtcdClient(settings));
      lab.ends(() => store.close());
      const { server } = await store.read({ keys: [HEADER_KEY, '3'] });
      await lab.lease(lab.support({ endpoints: [(await lab.proxy()).endpoint], namespace }));
      await lose(keys);
      const header = { key: HEADER_KEY, number: 0n, text: '{"late":1}' };
      const row = { key: '3', number: 1n, text: '{}' };
      return store.write({
        server,
        ...NONE,
        header,
        rows: [{ row, version: undefined }],
      });
    }

    it.each([
      ['emptied', async (keys: ReturnType<EtcdLab['keys']>) => keys.deleteAll()],
      ['without its header', async (keys: ReturnType<EtcdLab['keys']>) => keys.delete('header')],
      ['in use', async () => undefined],
    ])('does not count in a registry that is %s by then', async (_what, lose) => {
      expect(await stalled(lab.shared, lose)).toBe(false);
    });

    it('would count without the comparison of the header', async () => {
      const proxy = await lab.proxy(lab.shared, withoutCompare(isOfHeader));
      const lose = async (keys: ReturnType<EtcdLab['keys']>) => keys.deleteAll();
      expect(await stalled(proxy.endpoint, lose)).toBe(true);
    });

    /** Two stores read the same snapshot. The second writes the data that the first has changed. */
    async function second(endpoint: string, change: 'row' | 'header') {
      const namespace = randomUUID();
      await lab.lease(lab.support({ endpoints: [(await lab.proxy()).endpoint], namespace }), ONE);
      const settings = settingsOf({ endpoints: [endpoint], namespace, requestTimeoutMs: 30_000 });
      const store = new EtcdStore(settings, new EtcdClient(settings));
      lab.ends(() => store.close());
      const { server, rows } = await store.read({ keys: [HEADER_KEY, '0'] });
      const [header, row] = [rows[0]!, rows[1]!];
      const { version: headerVersion, number: headerNumber } = header;
      const read = { server, headerVersion, headerNumber };
      const write = { ...read, rows: [{ row, version: row.version }] };
      expect(header.key).toBe(HEADER_KEY);
      expect(await store.write(change === 'row' ? write : { ...write, header, rows: [] })).toBe(
        true,
      );
      return store.write(write);
    }

    it.each(['row', 'header'] as const)(
      'fails if its %s was written in the meantime',
      async (which) => {
        expect(await second(lab.shared, which)).toBe(false);
      },
    );

    it.each([
      ['row', (one: { key: string }) => !isOfHeader(one)],
      ['header', isOfHeader],
    ] as const)('would count without the comparison of the %s', async (which, lost) => {
      const proxy = await lab.proxy(lab.shared, withoutCompare(lost));
      expect(await second(proxy.endpoint, which)).toBe(true);
    });
  });

  describe('a lost response', () => {
    it('causes no second write, and the lease is found by its token', async () => {
      let isLost = false;
      let writeCount = 0;
      const ahead = lab.ahead();
      const proxy = await lab.proxy(lab.shared, async (call) => {
        const answer = await ahead(call);
        if (!call.body.includes('"compare"')) return answer;
        writeCount++;
        if (!isLost) return answer;
        isLost = false;
        return call.drop();
      });
      const support = lab.support({ endpoints: [proxy.endpoint, proxy.endpoint] });
      // This creates all rows for the next choice.
      await lab.lease(support, { workerIdMax: 1000 });
      const asked = request({ workerIdMax: 1000 });
      isLost = true;
      writeCount = 0;
      const error = await failureOf(support.getNextWorkId(asked));
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
      expect(writeCount).toBe(1);
      const answer = await support.getNextWorkId(asked);
      const held1 = (await support.workers!()).filter(({ freeInMs }) => freeInMs > 0);
      expect(held1).toHaveLength(2);
      expect(held1.map(({ workerId }) => workerId)).toContain(held(asked, answer).workerId);
    });

    it('causes another request if nothing was written', async () => {
      let count = 0;
      const proxy = await lab.proxy(lab.shared, ({ pass, drop }) =>
        ++count % 2 === 1 ? Promise.resolve(drop()) : pass(),
      );
      const support = lab.support({ endpoints: [proxy.endpoint] });
      expect(await support.workers!()).toEqual([]);
      expect(count).toBe(2);
    });
  });

  it('keeps the revision of a header if only its time is new', async () => {
    const settings = settingsOf({ endpoints: [lab.shared], namespace: randomUUID() });
    const store = new EtcdStore(settings, new EtcdClient(settings));
    lab.ends(() => store.close());
    expect(await keptTimeIn(store)).toEqual(TIME_IS_KEPT);
  });

  it('counts a loss if the stored time was deleted', async () => {
    const { endpoint } = await lab.proxy();
    const keys = lab.keys();
    const support = lab.support({ endpoints: [endpoint], namespace: keys.namespace });
    const { lease } = await lab.lease(support, ONE);
    const serverOf = async () =>
      JSON.parse((await keys.all()).get('header')!.split('\n')[1]!).server;
    const before: unknown = await serverOf();
    await keys.delete('clock');
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'hold' });
    expect(await serverOf()).not.toBe(before);
    expect((await keys.all()).get('clock')).toMatch(/^\d{16}$/);
  });

  it('allows no second attempt before its clock of whole seconds advances', async () => {
    const { endpoint } = await lab.proxy();
    const keys = lab.keys();
    const support = lab.support({ endpoints: [endpoint], namespace: keys.namespace });
    const { lease } = await lab.lease(support);
    await keys.delete('clock');
    const waits: number[] = [];
    for (;;) {
      const askedMs = performance.now();
      const answer = await support.refreshAlive(lease);
      if (answer.status !== 'hold') break;
      // The answer arrives after the time was stored, and takes effect from then on.
      waits.push(answer.waitMs + Math.ceil(performance.now() - askedMs));
      lab.aheadMs += 500;
    }
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1000);
    // Callers that wait for one second do not all return at the same moment of it.
    expect(new Set(waits.map((ms) => ms % 1000)).size).toBeGreaterThan(1);
  });

  it('works after a compaction', async () => {
    const { endpoint } = await lab.proxy(await ownEtcd());
    const keys = lab.keys(randomUUID(), endpoint);
    const support = lab.support({ endpoints: [endpoint], namespace: keys.namespace });
    const { lease } = await lab.lease(support);
    const { header } = await keys.ask('kv/range', { key: 'YQ==' });
    await keys.ask('kv/compaction', { revision: (header as { revision: string }).revision });
    expect(await support.refreshAlive(lease)).toMatchObject({ status: 'ok' });
  });

  /** A private member, so the changes affect no other spec. */
  async function ownEtcd(...args: string[]): Promise<string> {
    const { url, stop } = await startEtcd({ args });
    lab.ends(stop);
    return endpointOf(url);
  }

  describe('a full etcd', () => {
    const FULL = { code: 'STORE_UNAVAILABLE', retryable: true };
    const LONG = { ttlMs: 600_000, longestMs: 600_000 };
    const TWO = { workerIdMin: 1, workerIdMax: 1 };

    const fill = async (keys: EtcdKeys) => {
      const value = Buffer.alloc(400_000, 'x').toString();
      await until(() =>
        keys.put('other', value).then(
          () => false,
          () => true,
        ),
      );
    };

    /** Like an operator. */
    const makeRoom = async (keys: EtcdKeys) => {
      const { header } = (await keys.ask('kv/range', { key: 'YQ==' })) as {
        header: { revision: string; member_id: string };
      };
      await keys.ask('kv/compaction', { revision: header.revision, physical: true });
      await keys.ask('maintenance/defragment', {});
      const alarm = { action: 'DEACTIVATE', memberID: header.member_id, alarm: 'NOSPACE' };
      await keys.ask('maintenance/alarm', alarm);
    };

    it('ends no lease and no lock of a holder, and grants again once it has room', async () => {
      const etcd = await ownEtcd('--quota-backend-bytes=2000000');
      const { endpoint } = await lab.proxy(etcd);
      const namespace = randomUUID();
      const support = lab.support({ endpoints: [endpoint], namespace });
      const { lease, grant } = await lab.lease(support, ONE);
      const locks = etcdLocks({ endpoints: [etcd], namespace });
      lab.ends(() => locks.close!());
      await locks.release(await heldIn(locks, namedLock('a')));
      const own = await heldIn(locks, namedLock('a', LONG));
      const keys = lab.keys(randomUUID(), etcd);
      await fill(keys);

      const failure = await failureOf(support.refreshAlive(lease));
      expect(failure).toMatchObject(FULL);
      expect(failure.message).toContain('etcd is full and refuses writes');
      expect(await failureOf(support.getNextWorkId(request(TWO)))).toMatchObject(FULL);
      expect(await failureOf(locks.acquire(namedLock('b')))).toMatchObject(FULL);
      const others = await locks.acquire(namedLock('a')).catch(() => undefined);
      expect(others?.status ?? 'refused').toMatch(/^(held|refused)$/);
      const extended = await locks.extend({ ...own, ...LONG }).catch(() => undefined);
      expect(extended?.status ?? 'refused').toMatch(/^(ok|refused)$/);

      await makeRoom(keys);
      expect(await support.refreshAlive(lease)).toMatchObject({
        status: 'ok',
        workerId: grant.workerId,
      });
      expect(await locks.extend({ ...own, ...LONG })).toMatchObject({ status: 'ok' });
      await locks.release(own);
      const next = await heldIn(locks, namedLock('a', LONG));
      expect(next.token > own.token).toBe(true);
    });

    it('does not lease a worker ID whose release failed until its lease ends', async () => {
      const etcd = await ownEtcd('--quota-backend-bytes=2000000');
      const { endpoint } = await lab.proxy(etcd);
      const support = lab.support({ endpoints: [endpoint], namespace: randomUUID() });
      const { lease, grant } = await lab.lease(support, ONE);
      const keys = lab.keys(randomUUID(), etcd);
      await fill(keys);
      const lastMs = grant.floorMs + 1;
      expect(await failureOf(support.release(lease, lastMs))).toMatchObject(FULL);
      await makeRoom(keys);
      expect(await support.getNextWorkId(request({ ...ONE, token: 'next' }))).toMatchObject({
        status: 'none-free',
      });
      const next = await lab.lease(support, { ...ONE, token: 'next' });
      expect(next.grant.floorMs).toBeGreaterThanOrEqual(grant.ceilingMs);
    });
  });
});

/*
 * The data folders of an etcd, restored from older copies like volumes and virtual machines. The
 * folders show no sign of this, and the first caller has never seen the etcd. No range is granted a
 * second time.
 */
describe('a restored etcd', () => {
  const lab = new EtcdLab();
  afterEach(() => lab.end());

  const ONE = { workerIdMin: 0, workerIdMax: 0 };

  describe.each([1, 3])('a registry on %d member(s)', (memberCount) => {
    const cluster = new EtcdCluster();
    beforeAll(() => cluster.create(memberCount));
    afterAll(() => cluster.stop());

    it('grants no duplicate if all folders are restored', async () => {
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
});
