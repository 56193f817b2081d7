/**
 * A TCP proxy before a server that can be gone without a word, as with its machine or its address:
 * what was sent gets no answer and no end, for as long as the kernel tries.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export class MuteProxy {
  /** Whether new connections get no answer either. */
  isMute = false;
  readonly #server: Server;
  readonly #near: Socket[] = [];

  constructor(targetPort: number) {
    this.#server = createServer((near) => {
      this.#near.push(near);
      const far = connect(targetPort, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on('error', () => undefined);
        from.on('close', () => to.destroy());
      }
      if (!this.isMute) near.pipe(far).pipe(near);
    });
  }

  /** How many connections there were. */
  get count(): number {
    return this.#near.length;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Neither what is sent from now on nor its end is read, and nothing is said. */
  mute(): void {
    for (const socket of this.#near) {
      socket.unpipe();
      socket.removeAllListeners('data');
      socket.pause();
    }
  }

  /** Refuses new connections; those there are stay. */
  refuse(): void {
    this.#server.close();
  }

  end(): void {
    this.#server.close();
    for (const socket of this.#near) socket.destroy();
  }
}
