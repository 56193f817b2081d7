/**
 * A TCP proxy on the loopback interface between the processes and a store, as bad as a network is.
 *
 * Modes: open; cut (nobody gets through); half-open (connections stand, nothing moves); replies
 * lost (the store hears, nobody hears it); slow (each piece waits). No mode changes the order of
 * what is sent one way, which TCP never does: answers would reach the wrong questions. In any mode
 * the connections that there are can go dead for good, without a word to either end.
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
  /** At which it listens. */
  host = '127.0.0.1';
  /** What becomes of what the store says. */
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

  /** Connections that were half open stay dead; what comes new is as the mode says. */
  set(/** @type {Mode} */ mode) {
    if (mode === 'cut' || this.mode !== 'open') this.#dropAll();
    this.mode = mode;
  }

  /** Every second connection, as if half of the network had heard of another server. */
  dropHalf() {
    [...this.#sockets].forEach((socket, at) => at % 4 < 2 && socket.destroy());
  }

  /** Nothing moves on them any more; who connects anew gets through. @returns how many ends */
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
        // The store says good-bye, and nobody hears it.
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
