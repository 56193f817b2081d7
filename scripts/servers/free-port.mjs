// A port on the loopback interface that nobody listens on just now.
//
// Guarantee: the system gives it to nobody else before it is used, since it lies below those that
// connections and listeners without a wish get. Whoever else wishes for one draws at random too.
import { once } from 'node:events';
import { createServer } from 'node:net';

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
