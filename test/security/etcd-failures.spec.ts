/**
 * Members of etcd that refuse, and whatever is pasted in place of their URL: nothing that is
 * logged, printed, measured or shown holds a password or a token.
 */
import { afterAll, describe, expect, it } from '@jest/globals';
import { etcdError, REFUSALS } from '../../lib/stores/etcd/etcd-errors.js';
import { etcdLocks, etcdSupport } from '../../lib/stores/etcd/index.js';
import { supportFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { EtcdLab } from '../stores/etcd-lab.js';
import type { Handler } from '../stores/etcd-proxy.js';
import { failureOf, request } from '../stores/redis-lab.js';
import { namedLock } from '../lock/store-locks.js';
import * as sinks from './sinks.js';

const { SECRET, TRACE } = sinks;
const lab = new EtcdLab();
afterAll(() => lab.end());

const LOGIN = `user:${encodeURIComponent(SECRET)}@`;
const date = new Date().toUTCString();
const answering = (status: number, body: string): Handler => {
  return async () => ({ status, headers: { date }, body });
};

/** What may answer a login, and repeat it. */
const FAILURES: Readonly<Record<string, Handler>> = {
  'a page that repeats what was sent': async ({ body }) => ({
    status: 400,
    headers: { date },
    body: `<html>${body}</html>`,
  }),
  'a message that repeats it': async ({ body }) => ({
    status: 400,
    headers: { date },
    body: JSON.stringify({ message: `cannot read ${body} ${SECRET}` }),
  }),
  'a token and then a message that repeats it': async ({ path }) =>
    path === 'auth/authenticate'
      ? { status: 200, headers: { date }, body: JSON.stringify({ token: SECRET }) }
      : { status: 400, headers: { date }, body: JSON.stringify({ message: `what? ${SECRET}` }) },
  'a redirect with a login in it': async () => ({
    status: 302,
    headers: { date, location: `http://user:${SECRET}@elsewhere` },
    body: '',
  }),
  'no authentication': answering(412, '{"message":"etcdserver: authentication is not enabled"}'),
  nothing: async ({ drop }) => drop(),
};

describe.each(Object.keys(FAILURES))('%s', (name) => {
  it('is told without a password, wherever it is told', async () => {
    const { endpoint } = await lab.proxy(lab.shared, FAILURES[name]!);
    const url = endpoint.replace('http://', `etcd://${LOGIN}`);
    const support = supportFromUrl(url);
    const error = await failureOf(support.getNextWorkId(request()));
    const texts = [await sinks.shownError(error), sinks.shownSupport(support)];
    expect(texts[0]).toContain('STORE_UNAVAILABLE');
    texts.push((await support.advice!()).join(), support.location, sinks.shownSupport(support));
    await support.close!();
    const locks = etcdLocks({ url });
    texts.push(await sinks.shownError(await failureOf(locks.acquire(namedLock('a')))));
    texts.push((await locks.advice!()).join(), locks.location!, sinks.shownSupport(locks));
    await locks.close!();
    texts.push(await sinks.shownByCommands(url));
    texts.push(await sinks.shownByApplication({ support: url }, true));
    for (const text of texts) expect(text).not.toContain(TRACE);
  });
});

it.each(Object.entries(REFUSALS))('the refusal %s holds nothing of its cause', async (_, row) => {
  const said = row.says.source.replaceAll(/[^\w ]+/g, ' ');
  const inner = Object.assign(new Error(`${said} ${SECRET}`), { auth: SECRET });
  const hostile = Object.assign(new Error(`${said} ${SECRET}`, { cause: inner }), {
    config: { password: SECRET },
    errors: [inner],
  });
  const error = etcdError(hostile, { where: 'h:2379', secrets: [SECRET] });
  expect(await sinks.shownError(error)).not.toContain(TRACE);
});

const SHAPES = [
  'user:hunter2@/',
  'user:hunter2@host:99999',
  'user:hunt/er@hunter2@host',
  ':hunter2#@host',
  'host:hunter2',
  'host:2379,password=hunter2',
  'host?password=hunter2',
  'host?hunter2',
  'host?hunter2=1',
  'host?namespace=hunter2@x',
  'host?namespace=a&namespace=hunter2',
  'host?failoverWindowMs=hunter2',
  'host/hunter2',
  'host?ca=hunter2',
  ':hunter2@host\n',
  'hunter2@host',
];

it.each(
  ['etcd', 'etcds', 'ETCD', 'etcd3'].flatMap((scheme) => SHAPES.map((s) => `${scheme}://${s}`)),
)('%j is refused, and not repeated', async (url) => {
  const error = await failureOf(resolveOptions({ support: url } as never, true));
  expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
  const texts = [await sinks.shownError(error), await sinks.shownByCommands(url)];
  const uses: readonly (() => object)[] = [
    () => supportFromUrl(url),
    () => etcdSupport({ endpoints: [url] }),
    () => etcdSupport(url as never),
    () => etcdLocks({ url }),
    () => etcdLocks(url as never),
  ];
  for (const use of uses) {
    texts.push(await sinks.shownError(await failureOf(Promise.resolve().then(use))));
  }
  for (const text of texts) expect(text).not.toContain(TRACE);
});
