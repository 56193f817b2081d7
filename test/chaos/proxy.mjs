/**
 * A TCP proxy on the loopback interface between the processes and a store. It behaves like a bad
 * network.
 *
 * Modes: open; cut (no connection works); half-open (connections stay, nothing moves); replies lost
 * (the store receives data, and its replies vanish); slow (each piece waits). As in TCP, no mode
 * changes the order of data sent in one direction. Otherwise replies would reach the wrong
 * requests. In any mode, existing connections can go dead forever without notice to either end.
 */
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {'open' | 'cut' | 'half-open' | 'replies lost' | 'slow'} Mode */

const SLOW_MS_MAX = 700;

export class Proxy {
  /** @type {Mode} */
  mode = 'open';
  port = 0;
  /** The port on which it listens. */
  host = '127.0.0.1';
  /** Handles data from the store. */
  heard = (/** @type {Buffer} */ said) => said;
  #server = createServer((client) => this.#join(client));
  /** @type {Set<import('node:net').Socket>} */
  #sockets = new Set();
  /** @type {WeakSet<import('node:net').Socket>} */
  #dead = new WeakSet();
  #slowMsMax;

  constructor(slowMsMax = SLOW_MS_MAX) {
    this.#slowMsMax = slowMsMax;
  }

  async listen(/** @type {() => number} */ targetPort) {
    this.targetPort = targetPort;
    this.#server.listen(0, this.host);
    await once(this.#server, 'listening');
    this.port = /** @type {import('node:net').AddressInfo} */ (this.#server.address()).port;
  }

  /** Half-open connections stay dead. New ones follow the mode. */
  set(/** @type {Mode} */ mode) {
    if (mode === 'cut' || this.mode !== 'open') this.#dropAll();
    this.mode = mode;
  }

  /** Cuts every second connection, as if half of the network had switched to another server. */
  dropHalf() {
    [...this.#sockets].forEach((socket, at) => at % 4 < 2 && socket.destroy());
  }

  /** Existing connections go dead, and new ones work. @returns the count of dead ends */
  deaden() {
    for (const socket of this.#sockets) this.#dead.add(socket);
    return this.#sockets.size;
  }

  close() {
    this.#server.close();
    this.#dropAll();
  }

  #dropAll() {
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(/** @type {import('node:net').Socket} */ client) {
    if (this.mode === 'cut' || this.targetPort === undefined) return client.destroy();
    const server = connect(this.targetPort(), '127.0.0.1');
    for (const [from, to] of [
      [client, server],
      [server, client],
    ]) {
      this.#sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => {
        this.#sockets.delete(from);
        // The store closes the connection, and the client does not notice.
        if (from === client || !this.#dead.has(from)) to.destroy();
      });
      let last = Promise.resolve();
      from.on('data', (said) => {
        if (this.#dead.has(from) || !this.#isPassed(from === server)) return;
        const data = from === server ? this.heard(said) : said;
        if (this.mode !== 'slow') return void to.write(data);
        const waited = sleep(Math.random() * this.#slowMsMax);
        last = Promise.all([last, waited]).then(() => void (to.writable && to.write(data)));
      });
    }
  }

  #isPassed(/** @type {boolean} */ isReply) {
    return this.mode !== 'half-open' && !(this.mode === 'replies lost' && isReply);
  }
}
