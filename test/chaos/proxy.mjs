/**
 * A TCP proxy on the loopback interface between the processes and a store, as bad as a network is.
 *
 * Modes: open; cut (nobody gets through); half-open (connections stand, nothing moves); replies
 * lost (the store hears, nobody hears it); slow (each piece waits). No mode changes the order of
 * what is sent one way, which TCP never does: answers would reach the wrong questions.
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
  /** What becomes of what the store says. */
  heard = (/** @type {Buffer} */ said) => said;
  #server = createServer((client) => this.#join(client));
  /** @type {Set<import('node:net').Socket>} */
  #sockets = new Set();
  #slowMsMax;

  constructor(slowMsMax = SLOW_MS_MAX) {
    this.#slowMsMax = slowMsMax;
  }

  async listen(/** @type {() => number} */ targetPort) {
    this.targetPort = targetPort;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = /** @type {import('node:net').AddressInfo} */ (this.#server.address()).port;
  }

  /** Connections that were half open stay dead; what comes new is as the mode says. */
  set(/** @type {Mode} */ mode) {
    if (mode === 'cut' || this.mode !== 'open') this.#dropAll();
    this.mode = mode;
  }

  /** Every second connection, as if half of the network had heard of another server. */
  dropHalf() {
    [...this.#sockets].forEach((socket, at) => at % 4 < 2 && socket.destroy());
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
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      let last = Promise.resolve();
      from.on('data', (said) => {
        if (!this.#isPassed(from === server)) return;
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
