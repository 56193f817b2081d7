/**
 * A Redis that is gone without a word, as with its machine or its address: what was sent to it
 * gets no answer and no end, for as long as the kernel tries.
 */
import { afterAll, afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import {
  clientFromUrl,
  duplicateClient,
} from '../../lib/backends/redis/connection/redis-client.js';
import { ClientLife } from '../../lib/backends/redis/connection/client-life.js';
import { RedisConnection } from '../../lib/backends/redis/connection/redis-connection.js';
import { placeOfUrl } from '../../lib/backends/redis/connection/redis-place.js';
import { parseRedisUrl } from '../../lib/backends/redis/connection/redis-url.js';
import { SILENCE_MS } from '../../lib/backends/redis/connection/silence.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { RedisLab, failureOf, until } from './redis-lab.js';

const lab = new RedisLab();
let server: Server;
let proxyPort: number;
let near: Socket[];
let isGone: boolean;

beforeEach(async () => {
  const { port } = await lab.server();
  near = [];
  isGone = false;
  server = createServer((client) => {
    near.push(client);
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [client, far],
      [far, client],
    ] as const) {
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
    }
    if (!isGone) client.pipe(far).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxyPort = (server.address() as AddressInfo).port;
});
afterEach(() => {
  server.close();
  for (const socket of near) socket.destroy();
});
afterAll(() => lab.end());

/** Neither what was sent nor the end of it is read, and nothing is said. */
function freeze(): void {
  for (const socket of near) {
    socket.unpipe();
    socket.removeAllListeners('data');
    socket.pause();
  }
}

function connection(kind: string) {
  const url = parseRedisUrl(`redis://127.0.0.1:${proxyPort}`);
  const time = new SettableTime();
  const build =
    kind === 'a URL'
      ? () => clientFromUrl(url)
      : async () => duplicateClient(lab.client(proxyPort, { lazyConnect: true }));
  const made = new RedisConnection(() => new ClientLife(build, time), placeOfUrl(url));
  return { time, made, ask: () => made.info('server') };
}

describe.each(['a URL', 'a client'])('a connection made of %s', (kind) => {
  it('is replaced where nothing is heard on it', async () => {
    const { time, made, ask } = connection(kind);
    await ask();
    freeze();
    const asked = [ask(), ask()];
    await time.advance(SILENCE_MS);
    for (const answer of await Promise.all(asked)) expect(answer).toContain('run_id');
    expect(near).toHaveLength(2);
    await made.close();
    expect(time.timerCount).toBe(0);
  });

  it('is replaced again and again, until one is heard', async () => {
    const { time, made, ask } = connection(kind);
    await ask();
    freeze();
    isGone = true;
    const asked = ask();
    for (const count of [2, 3]) {
      await time.advance(SILENCE_MS);
      await until(async () => near.length >= count);
    }
    isGone = false;
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
    expect(near).toHaveLength(1);
    await made.close();
  });

  it('on which nobody waits may be silent', async () => {
    const { time, made, ask } = connection('a URL');
    await ask();
    await time.advance(10 * SILENCE_MS);
    await ask();
    expect(near).toHaveLength(1);
    await made.close();
  });

  it('says what happened to whoever fails with it, and comes back', async () => {
    const { time, made, ask } = connection('a URL');
    await ask();
    freeze();
    server.close();
    const failed = failureOf(ask());
    await time.advance(SILENCE_MS);
    expect(await failed).toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    server.listen(proxyPort);
    await until(async () => (await ask()).includes('run_id'));
    await made.close();
  });
});
