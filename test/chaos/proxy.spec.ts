/**
 * A slow network is slow, and is a network: what is sent one way arrives in its order. Where it did
 * not, answers of Redis reached the wrong questions, and locks had two holders that no store made.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { until } from '../until.js';
import { Proxy } from './proxy.mjs';

let server: Server;
let proxy: Proxy;
let client: Socket;
afterEach(() => {
  client.destroy();
  proxy.close();
  server.close();
});

it('a slow network keeps the order of what is sent', async () => {
  let heard = '';
  server = createServer((socket) => socket.on('data', (data) => (heard += String(data))));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  proxy = new Proxy(5);
  await proxy.listen(() => (server.address() as AddressInfo).port);
  proxy.set('slow');
  client = connect(proxy.port, '127.0.0.1');
  await once(client, 'connect');
  client.setNoDelay();
  const sent = Array.from({ length: 100 }, (_, at) => `${at} `);
  for (const piece of sent) {
    client.write(piece);
    // A piece of its own for each.
    await new Promise(setImmediate);
  }
  await until(() => heard.length === sent.join('').length);
  expect(heard).toBe(sent.join(''));
});
