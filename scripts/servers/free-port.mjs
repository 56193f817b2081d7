// A port on the loopback interface that nobody listens on just now. Another process may take it
// before it is used; the servers are started again on another one then.
import { once } from 'node:events';
import { createServer } from 'node:net';

/** @returns {Promise<number>} */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}
