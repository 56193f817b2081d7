/**
 * Certificates of an authority of one's own, made with openssl, for servers that run as another
 * user.
 */
import { spawnSync } from 'node:child_process';
import { chownSync, copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { serverFolder, unprivileged } from '../../scripts/servers/server-process.mjs';

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];

export class Certificates {
  private readonly user = unprivileged();
  private readonly folder = serverFolder('certificates', this.user);

  file(name: string): string {
    return join(this.folder, name);
  }

  /** `<name>.pem`, which signs. */
  authority(name: string): string {
    const files = ['-keyout', `${name}.key`, '-out', `${name}.pem`];
    this.openssl('req', '-x509', ...KEY, ...files, '-days', '2', '-subj', `/CN=${name}`);
    return this.file(`${name}.pem`);
  }

  /** `<name>.pem` and `<name>.key` of a server that is called `altName`. */
  server(name: string, altName: string, authority: string): { cert: string; key: string } {
    const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`];
    this.openssl('req', ...KEY, ...request);
    writeFileSync(this.file('names'), `subjectAltName=${altName}\n`);
    const files = ['-in', `${name}.csr`, '-out', `${name}.pem`, '-extfile', 'names', '-days', '2'];
    const by = ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`, '-CAcreateserial'];
    this.openssl('x509', '-req', ...files, ...by);
    const { uid, gid } = this.user;
    // PostgreSQL takes only a key that nobody else can read.
    if (uid !== undefined) chownSync(this.file(`${name}.key`), uid, gid!);
    return { cert: this.file(`${name}.pem`), key: this.file(`${name}.key`) };
  }

  /** The certificate of another server in the files of this one. */
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
