// Ports of this machine: one that is free, and one that answers.
import { once } from 'node:events';
import { createServer, connect } from 'node:net';

// A port on the loopback interface that nobody listens on just now.
//
// Guarantee: the system gives it to nobody else before it is used, since it lies below those that
// connections and listeners without a wish get. Whoever else wishes for one draws at random too.

/** Linux hands out ports from 32768 on, macOS and Windows from 49152 on. */
const PORT_MIN = 20_000;
const PORT_COUNT = 12_000;

/** @returns {Promise<number>} */
export async function freePort() {
  for (;;) {
    const port = PORT_MIN + Math.floor(Math.random() * PORT_COUNT);
    if (await isFree(port)) return port;
  }
}

/** @param {number} port */
async function isFree(port) {
  const server = createServer();
  const isOurs = new Promise((resolve) => {
    server.once('error', () => resolve(false));
    server.once('listening', () => resolve(true));
  });
  server.listen(port, '127.0.0.1');
  if (!(await isOurs)) return false;
  server.close();
  await once(server, 'close');
  return true;
}

// Asks a server on the loopback interface whether it is there.

/**
 * The first bytes a server sends after `request`, or '' when there is nobody.
 * @returns {Promise<string>}
 */
export function firstReply(port, request = '') {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request, 'latin1'));
    const finish = (reply) => {
      socket.destroy();
      resolve(reply);
    };
    socket.setTimeout(5000, () => finish(''));
    socket.once('data', (data) => finish(data.toString('latin1')));
    socket.once('error', () => finish(''));
    socket.once('close', () => finish(''));
  });
}
