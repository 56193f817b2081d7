/**
 * What may answer in place of an etcd: proxies, other servers, half of a body. Each is a fault in
 * words, and nothing is leased.
 */
import { afterEach, expect, it } from '@jest/globals';
import { REFUSALS } from '../../lib/stores/etcd/etcd-errors.js';
import { EtcdLab } from './etcd-lab.js';
import type { Passed, ProxyCall } from './etcd-proxy.js';
import { failureOf, request } from './redis-lab.js';

const lab = new EtcdLab();
afterEach(() => lab.end());

const date = new Date().toUTCString();
const HEADER = '"header":{"cluster_id":"1","member_id":"2","revision":"3","raft_term":"4"}';
const said = (body: string, status = 200): Passed => ({ status, headers: { date }, body });
const grpc = (message: string, status: number) => said(JSON.stringify({ message }), status);

const ANSWERS: Readonly<Record<string, [keyof typeof REFUSALS, Passed]>> = {
  'a page of a proxy': ['not-etcd', said('<html><body>Bad gateway</body></html>', 502)],
  'a page that says it is fine': ['not-etcd', said('<html>hello</html>')],
  'half of a body': ['not-etcd', said(`{${HEADER},"respon`)],
  'nothing at all': ['not-etcd', said('')],
  'a list': ['not-etcd', said('[]')],
  null: ['not-etcd', said('null')],
  'no cluster': ['not-etcd', said('{"header":{},"responses":[]}')],
  'no responses': ['not-etcd', said(`{${HEADER}}`)],
  'responses that are none': ['not-etcd', said(`{${HEADER},"responses":[{},{},{}]}`)],
  'responses in another form': ['not-etcd', said(`{${HEADER},"responses":"many"}`)],
  'a revision that is none': ['not-etcd', said(`{${HEADER.replace('"3"', '3')},"responses":[]}`)],
  'a redirect': ['redirect', { ...said('', 302), headers: { date, location: 'http://x' } }],
  'no such path': ['no-gateway', said('404 page not found', 404)],
  'no clock': ['no-date', { ...said(`{${HEADER}}`), headers: {} }],
  'a clock that is none': ['no-date', { ...said(`{${HEADER}}`), headers: { date: 'now' } }],
  'a full database': ['no-space', grpc('etcdserver: mvcc: database space exceeded', 429)],
  'no leader': ['no-leader', grpc('etcdserver: no leader', 503)],
  'a low limit': ['txn-limit', grpc('etcdserver: too many operations in txn request', 400)],
  'corrupt data': ['corrupt', grpc('etcdserver: corrupt cluster', 500)],
  'more than anybody asked for': ['too-large', said('x'.repeat(33 * 2 ** 20))],
};

it.each(Object.entries(ANSWERS))('%s is told as what it is', async (_what, [refusal, answer]) => {
  const proxy = await lab.proxy(lab.shared, async () => answer);
  const support = lab.support({ endpoints: [proxy.endpoint] });
  for (const ask of [() => support.getNextWorkId(request()), () => support.workers!()]) {
    const error = await failureOf(ask());
    expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { refusal } });
    expect(error.retryable).toBe(REFUSALS[refusal].retryable);
    expect(error.message).toMatch(/^etcd at 127\.0\.0\.1:\d+: /);
  }
});

it('silence ends with its limit, and the next member is asked', async () => {
  const silent = await lab.proxy(lab.shared, () => new Promise(() => undefined));
  const endpoints = [silent.endpoint, lab.shared];
  const support = lab.support({ endpoints, requestTimeoutMs: 100 });
  expect(await support.workers!()).toEqual([]);
  // Who answered is asked first from then on.
  expect(await support.workers!()).toEqual([]);
  expect(silent.asked).toHaveLength(1);
  const alone = lab.support({ endpoints: [silent.endpoint], requestTimeoutMs: 20 });
  const error = await failureOf(alone.workers!());
  expect(error).toMatchObject({ retryable: true, details: { refusal: 'late' } });
});

it.each([
  ['answers nothing', () => undefined],
  ['says what nobody understands', () => said(`{${HEADER},"succeeded":true}`)],
])('a write whose member %s does not count as written', async (_what, answer) => {
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

it('one who is closed while it waits says so, and asks nobody else', async () => {
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
