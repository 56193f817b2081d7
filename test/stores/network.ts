/**
 * The network between a client and a server: a silent proxy, and certificates.
 */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { serverFolder, unprivileged } from '../../scripts/servers/server-process.mjs';

/**
 * A TCP proxy in front of a server that can vanish silently, like a machine or an address that is
 * gone. Data gets no answer and no error for as long as the kernel tries.
 */
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

  /** The total count of connections. */
  get count(): number {
    return this.#near.length;
  }

  /** The count of open connections. */
  get openCount(): number {
    return this.#near.filter(({ destroyed }) => !destroyed).length;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async listen(port = 0): Promise<this> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Stops reading data and ends of connections, without notice. */
  mute(): void {
    for (const socket of this.#near) {
      socket.unpipe();
      socket.removeAllListeners('data');
      socket.pause();
    }
  }

  /** Refuses new connections. Existing ones stay. */
  refuse(): void {
    this.#server.close();
  }

  end(): void {
    this.#server.close();
    for (const socket of this.#near) socket.destroy();
  }
}

/*
 * Certificates of a private authority, made with openssl, for servers that run as another user.
 */

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export class Certificates {
  private readonly user = unprivileged();
  private readonly folder = serverFolder('certificates', this.user);

  file(name: string): string {
    return join(this.folder, name);
  }

  /** `<name>.pem`, the authority that signs. */
  authority(name: string): string {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
    this.openssl('req', '-x509', ...KEY, ...files, '-days', '2', '-subj', `/CN=${name}`);
    return this.file(`${name}.pem`);
  }

  /** `<name>.pem` and `<name>.key` of a server with the name `altName`. */
  server(name: string, altName: string, authority: string): { cert: string; key: string } {
    const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
    this.openssl('req', ...KEY, ...request);
    writeFileSync(this.file('names'), `subjectAltName=${altName}\n`);
    const files = ['-in', `${name}.csr`, '-out', `${name}.pem`, '-extfile', 'names', '-days', '2'];
    const by = ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`, '-CAcreateserial'];
    this.openssl('x509', '-req', ...files, ...by);
    const { uid, gid } = this.user;
    // PostgreSQL accepts only a key that no other user can read.
    if (uid !== undefined) chownSync(this.file(`${name}.key`), uid, gid!);
    return { cert: this.file(`${name}.pem`), key: this.file(`${name}.key`) };
  }

  /** Puts another server's certificate into the files of this one. */
  replace(name: string, by: string): void {
    for (const end of ['pem', 'key']) {
      copyFileSync(this.file(`${by}.${end}`), this.file(`${name}.${end}`));
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private openssl(...args: string[]): void {
    const made = spawnSync('openssl', args, { cwd: this.folder, encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`openssl: ${made.stderr || made.error}`);
  }
}
