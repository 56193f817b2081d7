/**
 * A Redis that is gone without a word, as with its machine or its address: what was sent to it
 * gets no answer and no end, for as long as the kernel tries.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clientFromUrl, duplicateClient, placeOfUrl } from '../../lib/stores/redis/redis-client.js';
import { ClientLife, SILENCE_MS } from '../../lib/stores/redis/client-life.js';
import { RedisConnection } from '../../lib/stores/redis/redis-connection.js';
import { parseRedisUrl } from '../../lib/stores/redis/redis-url.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { MuteProxy } from './mute-proxy.js';
import { RedisLab, failureOf, until } from './redis-lab.js';

const lab = new RedisLab();
let proxy: MuteProxy;

beforeEach(async () => {
  const { port } = await lab.server();
  proxy = await new MuteProxy(port).listen();
});
afterEach(() => proxy.end());
afterAll(() => lab.end());

function connection(kind: string) {
  const { port } = proxy;
  const url = parseRedisUrl(`redis://127.0.0.1:${port}`);
  const time = new SettableTime();
  const build =
    kind === 'a URL'
      ? () => clientFromUrl(url)
      : async () => duplicateClient(lab.client(port, { lazyConnect: true }));
  const made = new RedisConnection(() => new ClientLife(build, time), placeOfUrl(url));
  return { time, made, ask: () => made.info('server') };
}

describe.each(['a URL', 'a client'])('a connection made of %s', (kind) => {
  it('is replaced where nothing is heard on it', async () => {
    const { time, made, ask } = connection(kind);
    await ask();
    proxy.mute();
    const asked = [ask(), ask()];
    await time.advance(SILENCE_MS);
    for (const answer of await Promise.all(asked)) expect(answer).toContain('run_id');
    expect(proxy.count).toBe(2);
    await made.close();
    expect(time.timerCount).toBe(0);
  });

  it('is replaced again and again, until one is heard', async () => {
    const { time, made, ask } = connection(kind);
    await ask();
    proxy.mute();
    proxy.isMute = true;
    const asked = ask();
    for (const count of [2, 3]) {
      await time.advance(SILENCE_MS);
      await until(async () => proxy.count >= count);
    }
    proxy.isMute = false;
    await time.advance(SILENCE_MS);
    expect(await asked).toContain('run_id');
    await until(async () => (await ask()).includes('run_id'));
    await made.close();
  });
});

describe('a connection', () => {
  it('that answers anybody stays', async () => {
    const { time, made, ask } = connection('a URL');
    await ask();
    for (let at = 0; at < 5; at++) {
      const answer = ask();
      await time.advance(SILENCE_MS - 1);
      await answer;
    }
    expect(proxy.count).toBe(1);
    await made.close();
  });

  it('on which nobody waits may be silent', async () => {
    const { time, made, ask } = connection('a URL');
    await ask();
    await time.advance(10 * SILENCE_MS);
    await ask();
    expect(proxy.count).toBe(1);
    await made.close();
  });

  it('says what happened to whoever fails with it, and comes back', async () => {
    const { time, made, ask } = connection('a URL');
    await ask();
    proxy.mute();
    const { port } = proxy;
    proxy.refuse();
    const failed = failureOf(ask());
    await time.advance(SILENCE_MS);
    expect(await failed).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    await proxy.listen(port);
    await until(async () => (await ask()).includes('run_id'));
    await made.close();
  });
});
