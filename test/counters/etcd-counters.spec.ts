/**
 * Counters in etcd pass the contract, once with time and cluster set by the test, and once by
 * etcd's own clock. Also faults specific to etcd: a deleted and recreated key, a position with more
 * digits than a double has, and a restored snapshot.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { series, startSegments } from 'nestjs-snowflake/segments';
import type { RowCounters } from '../../lib/counters/row-counters.js';
import { RowLocks } from '../../lib/lock/row-locks.js';
import { EtcdClient } from '../../lib/stores/etcd/etcd-client.js';
import { settingsOf } from '../../lib/stores/etcd/etcd-options.js';
import { EtcdStore } from '../../lib/stores/etcd/etcd-store.js';
import { countersFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import { etcdCounters } from '../../lib/stores/etcd/index.js';
import { describeCounterStore, describeLockStore } from '../../lib/testing/index.js';
import { endpointOf, EtcdLab, settableEtcd } from '../stores/etcd-lab.js';
import { failureOf } from '../stores/redis-lab.js';
import { LOSS_WINDOW_MS } from '../stores/timed-redis.js';

const endpoint = () => endpointOf(process.env['ETCD_URL']!);

/** These tests also measure windows in whole seconds. */
const WINDOW = { failoverWindowMs: LOSS_WINDOW_MS - 1000, clockDifferenceMs: 0 };

describe('counters in etcd with a test clock', () => {
  const { clockControl, lossControl, made, end } = settableEtcd<RowCounters>(endpoint);
  afterEach(end);

  describeCounterStore({
    test: it,
    expect,
    clockControl,
    lossControl,
    createStore: (name) => made(name, (options) => etcdCounters({ ...options, ...WINDOW })),
  });
});

describe('counters in etcd', () => {
  const run = randomUUID();
  const opened: RowCounters[] = [];
  afterAll(() => Promise.all(opened.map((store) => store.close())));

  describeCounterStore({
    // Each case waits for seconds of a real clock.
    test: it.concurrent,
    expect,
    createStore(name) {
      const terms = `namespace=${name.replace(/\W/g, '_')}-${run}&requestTimeoutMs=60000`;
      const store = countersFromUrl(`${process.env['ETCD_URL']!}?${terms}`);
      opened.push(store);
      return store;
    },
    leaveOut: ['clock', 'losses'],
  });
});

/* The rows of counters also store locks, as in every row store. */
describe('locks in rows of etcd with a test clock', () => {
  const { clockControl, lossControl, made, end } = settableEtcd<RowLocks>(endpoint);
  afterEach(end);

  describeLockStore({
    test: it,
    expect,
    clockControl,
    lossControl,
    createStore: (name) =>
      made(name, (options) => {
        const settings = settingsOf({ ...options, ...WINDOW });
        return new RowLocks(new EtcdStore(settings, new EtcdClient(settings), 'counters'));
      }),
    leaveOut: ['untilReleased'],
  });
});

describe('a counter in etcd', () => {
  const lab = new EtcdLab();
  let namespace = randomUUID();
  beforeEach(() => void (namespace = randomUUID()));
  afterAll(() => lab.end());

  const opened = () => {
    const store = etcdCounters({ endpoints: [endpoint()], namespace, requestTimeoutMs: 30_000 });
    lab.ends(() => store.close());
    return store;
  };
  const TAKE = { kind: 'dense', counter: 'order', count: 10n, have: 0n, lossGap: 100n } as const;

  it('is next to the worker IDs of its namespace', async () => {
    const { endpoint: ahead } = await lab.proxy();
    const support = lab.support({ namespace, endpoints: [ahead] });
    await lab.lease(support);
    const store = opened();
    await store.create({ counter: 'w0000000001', start: 1n });
    expect(await store.take({ ...TAKE, counter: 'w0000000001' })).toMatchObject({ first: 1n });
    const names = [...(await lab.keys(namespace).all()).keys()];
    expect(names).toContain('counters/ww0000000001');
    expect(names).toContain('header');
  });

  it('refuses a write based on an earlier read after it was deleted and created again', async () => {
    const proxy = await lab.proxy();
    const store = etcdCounters({
      endpoints: [proxy.endpoint],
      namespace,
      requestTimeoutMs: 30_000,
    });
    lab.ends(() => store.close());
    await store.create({ counter: 'order', start: 1000n });
    const other = opened();
    let isDeleted = false;
    // Between a read and its write, the row is deleted and recreated with the same version.
    proxy.handler = async ({ body, pass }) => {
      if (!isDeleted && body.includes('request_put')) {
        isDeleted = true;
        await lab.keys(namespace).delete('counters/worder');
        await other.create({ counter: 'order', start: 5n });
      }
      return pass();
    };
    expect(await store.take(TAKE)).toMatchObject({ status: 'ok', first: 5n });
    expect(isDeleted).toBe(true);
  });

  it('counts exactly up to the last position', async () => {
    const store = opened();
    const start = 2n ** 63n - 5n;
    await store.create({ counter: 'order', start });
    expect(await store.take(TAKE)).toMatchObject({ first: start, end: 2n ** 63n - 1n });
    expect(await store.take(TAKE)).toEqual({ status: 'full' });
  });

  it.each(['a/b', 'x', 'ürün', '0', 'header'])('may have the name %s', async (counter) => {
    const store = opened();
    expect(await store.create({ counter, start: 0n })).toBe(true);
    expect(await store.create({ counter, start: 0n })).toBe(false);
    expect(await store.counters()).toMatchObject([{ counter, next: 0n }]);
    expect(await store.take({ ...TAKE, counter })).toMatchObject({ first: 0n });
    expect(await opened().take({ ...TAKE, counter })).toMatchObject({ first: 10n });
  });

  it('lists more than one page', async () => {
    const store = opened();
    await store.create({ counter: 'order', start: 1n });
    const keys = lab.keys(namespace);
    const text = (await keys.all()).get('counters/worder')!;
    for (let at = 0; at < 1200; at++) await keys.put(`counters/wn${at}`, text);
    expect(await store.counters()).toHaveLength(1201);
  });

  it('is refused if another program wrote it', async () => {
    const store = opened();
    await store.create({ counter: 'order', start: 1n });
    await lab.keys(namespace).put('counters/worder', '17');
    const failure = await failureOf(store.take(TAKE));
    expect(failure).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: false });
  });

  it("skips the callers' positions after an older copy replaced it", async () => {
    const store = opened();
    await store.create({ counter: 'order', start: 1n });
    const keys = lab.keys(namespace);
    const row = (await keys.all()).get('counters/worder')!;
    const { end } = (await store.take({ ...TAKE, count: 50n })) as { end: bigint };
    await keys.put('counters/worder', row);
    expect(await store.take({ ...TAKE, have: end })).toMatchObject({ first: end + 100n });
  });

  it('serves segments and series', async () => {
    const url = `${process.env['ETCD_URL']!}?namespace=${namespace}`;
    await opened().create({ counter: 'order', start: 1n });
    await using segments = await startSegments({ store: url, counter: 'order' });
    expect([segments.ids.nextId(), segments.ids.nextId()]).toEqual([1n, 2n]);
    const invoices = series({
      store: opened(),
      name: 'invoice',
      period: 'day',
      timeZone: 'Europe/Berlin',
      form: 'INV-{date}-{000000}',
    });
    const [first, second] = [await invoices.next(), await invoices.next()];
    expect(invoices.parse(second).number - invoices.parse(first).number).toBe(1);
  });
});
