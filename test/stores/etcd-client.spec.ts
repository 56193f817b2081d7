/**
 * Many concurrent requests to etcd over the few connections of a process to each member. A request
 * that waits for a connection is not late yet, and its wait is limited.
 */
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { isSnowflakeError } from '../../lib/errors.js';
import { HEADER_KEY } from '../../lib/rows/row-store.js';
import { EtcdClient } from '../../lib/stores/etcd/etcd-client.js';
import { REFUSALS } from '../../lib/stores/etcd/etcd-errors.js';
import { settingsOf } from '../../lib/stores/etcd/etcd-options.js';
import { EtcdStore } from '../../lib/stores/etcd/etcd-store.js';
import { LINE_MS_MAX, SOCKETS_MAX } from '../../lib/stores/etcd/http-request.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { until } from '../until.js';
import { EtcdLab, type Passed, type ProxyCall } from './etcd-lab.js';
import { failureOf, request } from './redis-lab.js';

describe('etcd line', () => {
  const lab = new EtcdLab();
  afterEach(() => lab.end());

  function outcomeOf(error: unknown): string {
    if (!isSnowflakeError(error)) return 'none of ours';
    const { refusal } = error.details;
    return typeof refusal === 'string' ? refusal : error.code;
  }

  describe('more requests than connections', () => {
    const ROUND_COUNT = 3;
    const LIMIT_MS = 1000;
    let server: Server;
    let waiting: ServerResponse[];
    let sockets: Set<Socket>;
    let time: SettableTime;
    let client: EtcdClient;

    beforeEach(async () => {
      waiting = [];
      sockets = new Set();
      server = createServer((_question, answer) => void waiting.push(answer));
      server.on('connection', (socket) => sockets.add(socket));
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      lab.ends(() => {
        server.closeAllConnections();
        server.close();
      });
      const { port } = server.address() as AddressInfo;
      time = new SettableTime();
      const endpoints = [`http://127.0.0.1:${port}`];
      client = new EtcdClient(settingsOf({ endpoints, requestTimeoutMs: LIMIT_MS }), time);
      lab.ends(() => client.close());
    });

    /** The result of each request: `ok`, or the reason of its refusal. */
    function asked(count: number): string[] {
      const outcomes: string[] = [];
      for (let at = 0; at < count; at++) {
        const question = { path: 'kv/txn', body: {}, isWrite: true };
        client.ask(question).then(
          () => outcomes.push('ok'),
          (error: unknown) => outcomes.push(outcomeOf(error)),
        );
      }
      return outcomes;
    }

    const isFull = () => waiting.length === SOCKETS_MAX;

    it('each request gets its full time limit once it is sent', async () => {
      const outcomes = asked(SOCKETS_MAX * ROUND_COUNT);
      for (let round = 1; round <= ROUND_COUNT; round++) {
        await until(isFull);
        await time.advance(LIMIT_MS - 100);
        for (const answer of waiting.splice(0)) answer.end('{}');
        await until(() => outcomes.length === round * SOCKETS_MAX);
      }
      expect(new Set(outcomes)).toEqual(new Set(['ok']));
      expect(sockets.size).toBe(SOCKETS_MAX);
      expect(time.timerCount).toBe(0);
    });

    it('a sent request times out, and the next one takes its connection', async () => {
      const outcomes = asked(SOCKETS_MAX + 1);
      await until(isFull);
      await time.advance(LIMIT_MS);
      await until(() => outcomes.length === SOCKETS_MAX);
      expect(new Set(outcomes)).toEqual(new Set(['late']));
      await until(() => waiting.length === SOCKETS_MAX + 1);
      waiting.at(-1)!.end('{}');
      await until(() => outcomes.at(-1) === 'ok');
    });

    it('a request without a connection fails, and is not sent later', async () => {
      const roundCount = LINE_MS_MAX / LIMIT_MS;
      const outcomes = asked(SOCKETS_MAX * (roundCount + 1));
      for (let round = 1; round <= roundCount; round++) {
        await until(() => waiting.length === SOCKETS_MAX * round);
        await time.advance(LIMIT_MS);
      }
      await until(() => outcomes.length === SOCKETS_MAX * (roundCount + 1));
      expect(outcomes.filter((outcome) => outcome === 'crowded')).toHaveLength(SOCKETS_MAX);
      expect(waiting).toHaveLength(SOCKETS_MAX * roundCount);
      // Unsent requests do not use up connections.
      const more = asked(1);
      await until(() => waiting.length === SOCKETS_MAX * roundCount + 1);
      waiting.at(-1)!.end('{}');
      await until(() => more[0] === 'ok');
      expect(time.timerCount).toBe(0);
    });

    it('no request is sent after close()', async () => {
      const outcomes = asked(SOCKETS_MAX * 2);
      await until(isFull);
      await client.close();
      await until(() => outcomes.length === SOCKETS_MAX * 2);
      expect(new Set(outcomes)).toEqual(new Set(['NOT_READY']));
      expect(waiting).toHaveLength(SOCKETS_MAX);
      expect(time.timerCount).toBe(0);
    });
  });

  /** More than a busy machine handles in `requestTimeoutMs`. */
  const HERD = 48;

  it('grants many leases that one process requests at once', async () => {
    const support = lab.support({ requestTimeoutMs: 1000 });
    const granted = async () => {
      const asked = request();
      for (;;) {
        const answer = await support.getNextWorkId(asked).catch(failed);
        if (answer?.status === 'ok') return answer.workerId;
        // After the wait that a new registry requires.
        await sleep(answer?.status === 'wait' ? answer.waitMs : 1);
      }
    };
    const workerIds = await Promise.all(Array.from({ length: HERD }, granted));
    expect(new Set(workerIds).size).toBe(HERD);
  });

  /** A busy machine is late, so the request is repeated. */
  function failed(error: unknown): undefined {
    if (!isSnowflakeError(error) || !error.retryable) throw error;
  }

  describe('a list of worker IDs', () => {
    const ROW_COUNT = 2500;
    const FREE_EVERY = 5;

    it('reads page by page, up to the limit, and omits rows that wait', async () => {
      const { endpoint, asked } = await lab.proxy();
      const settings = settingsOf({ endpoints: [endpoint], requestTimeoutMs: 30_000 });
      const store = new EtcdStore(settings, new EtcdClient(settings));
      lab.ends(() => store.close());
      const { server } = await store.read({ keys: [HEADER_KEY] });
      const none = { server, headerVersion: undefined, headerNumber: 0n };
      const header = { key: HEADER_KEY, number: 0n, text: '{}' };
      await store.write({ ...none, header, rows: [] });
      const { rows: read } = await store.read({ keys: [HEADER_KEY] });
      const rows = Array.from({ length: ROW_COUNT }, (_, workerId) => ({
        row: { key: String(workerId), number: BigInt(workerId % FREE_EVERY), text: '{}' },
        version: undefined,
      }));
      const before = { server, headerVersion: read[0]!.version, headerNumber: 0n };
      expect(await store.write({ ...before, rows })).toBe(true);
      const listed = async (countMax?: number) => {
        asked.splice(0);
        const list = (await store.readAll(countMax)).rows.map(({ key }) => key);
        return { list, pageCount: asked.length };
      };
      const leased = rows.map(({ row }) => row.key).filter((key) => Number(key) % FREE_EVERY > 0);
      expect(await listed()).toEqual({ list: [HEADER_KEY, ...leased], pageCount: 3 });
      expect(await listed(3)).toEqual({ list: [HEADER_KEY, '1', '2', '3'], pageCount: 1 });
      const some = leased.slice(0, 900);
      expect(await listed(900)).toEqual({ list: [HEADER_KEY, ...some], pageCount: 2 });
    });
  });
});

/*
 * Responses from something other than etcd: proxies, other servers, half of a body. Each is an
 * error with a clear message, and no lease is granted.
 */
describe('etcd responses', () => {
  const lab = new EtcdLab();
  afterEach(() => lab.end());

  const date = new Date().toUTCString();
  const HEADER = '"header":{"cluster_id":"1","member_id":"2","revision":"3","raft_term":"4"}';
  const said = (body: string, status = 200): Passed => ({ status, headers: { date }, body });
  const grpc = (message: string, status: number) => said(JSON.stringify({ message }), status);

  const ANSWERS: Readonly<Record<string, [keyof typeof REFUSALS, Passed]>> = {
    'a page of a proxy': ['not-etcd', said('<html><body>Bad gateway</body></html>', 502)],
    'a page with status 200': ['not-etcd', said('<html>hello</html>')],
    'half of a body': ['not-etcd', said(`{${HEADER},"respon`)],
    'nothing at all': ['not-etcd', said('')],
    'a list': ['not-etcd', said('[]')],
    null: ['not-etcd', said('null')],
    'no cluster': ['not-etcd', said('{"header":{},"responses":[]}')],
    'no responses': ['not-etcd', said(`{${HEADER}}`)],
    'responses without content': ['not-etcd', said(`{${HEADER},"responses":[{},{},{}]}`)],
    'responses in another form': ['not-etcd', said(`{${HEADER},"responses":"many"}`)],
    'an invalid revision': ['not-etcd', said(`{${HEADER.replace('"3"', '3')},"responses":[]}`)],
    'a redirect': ['redirect', { ...said('', 302), headers: { date, location: 'http://x' } }],
    'no such path': ['no-gateway', said('404 page not found', 404)],
    'no clock': ['no-date', { ...said(`{${HEADER}}`), headers: {} }],
    'an invalid clock': ['no-date', { ...said(`{${HEADER}}`), headers: { date: 'now' } }],
    'a full database': ['no-space', grpc('etcdserver: mvcc: database space exceeded', 429)],
    'no leader': ['no-leader', grpc('etcdserver: no leader', 503)],
    'a low limit': ['txn-limit', grpc('etcdserver: too many operations in txn request', 400)],
    'corrupt data': ['corrupt', grpc('etcdserver: corrupt cluster', 500)],
    'an oversized response': ['too-large', said('x'.repeat(33 * 2 ** 20))],
  };

  it.each(Object.entries(ANSWERS))('reports %s accurately', async (_what, [refusal, answer]) => {
    const proxy = await lab.proxy(lab.shared, async () => answer);
    const support = lab.support({ endpoints: [proxy.endpoint] });
    for (const ask of [() => support.getNextWorkId(request()), () => support.workers!()]) {
      const error = await failureOf(ask());
      expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { refusal } });
      expect(error.retryable).toBe(REFUSALS[refusal].retryable);
      expect(error.message).toMatch(/^etcd at 127\.0\.0\.1:\d+: /);
    }
  });

  it('a silent member times out, and the next member gets the request', async () => {
    const silent = await lab.proxy(lab.shared, () => new Promise(() => undefined));
    const endpoints = [silent.endpoint, lab.shared];
    const support = lab.support({ endpoints, requestTimeoutMs: 3000 });
    expect(await support.workers!()).toEqual([]);
    // The member that answered gets later requests first.
    expect(await support.workers!()).toEqual([]);
    expect(silent.asked).toHaveLength(1);
    const alone = lab.support({ endpoints: [silent.endpoint], requestTimeoutMs: 20 });
    const error = await failureOf(alone.workers!());
    expect(error).toMatchObject({ retryable: true, details: { refusal: 'late' } });
  });

  it.each([
    ['answers nothing', () => undefined],
    ['sends an incomprehensible answer', () => said(`{${HEADER},"succeeded":true}`)],
  ])('does not count a write whose member %s', async (_what, answer) => {
    const ahead = lab.ahead();
    const proxy = await lab.proxy(lab.shared, async (call: ProxyCall) => {
      if (!call.body.includes('"compare"')) return ahead(call);
      call.drop();
      return answer();
    });
    const support = lab.support({ endpoints: [proxy.endpoint] });
    const error = await failureOf(support.getNextWorkId(request()));
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('a client closed while it waits reports this, and contacts no other member', async () => {
    let close: () => unknown = () => undefined;
    const proxy = await lab.proxy(lab.shared, () => {
      close();
      return new Promise(() => undefined);
    });
    const support = lab.support({ endpoints: [proxy.endpoint, proxy.endpoint, proxy.endpoint] });
    close = () => support.close();
    const error = await failureOf(support.workers!());
    expect(error).toMatchObject({ code: 'NOT_READY', retryable: false });
    expect(proxy.asked).toHaveLength(1);
  });
});
