/**
 * A registry of packages that has the library, as after a publication, and sends everybody on to
 * the usual registry for all others: `nest add` takes a name, not a file.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ROOT } from '../tidy/tree.js';
import { run } from './command.js';

const NAME = '/nestjs-snowflake';

export class LocalRegistry {
  private constructor(
    private readonly server: Server,
    readonly url: string,
  ) {}

  static async start(tarball: string): Promise<LocalRegistry> {
    const upstream = (await run(ROOT, 'npm', 'config', 'get', 'registry')).trim();
    const packed = await readFile(tarball);
    const manifest = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as {
      version: string;
    };
    const server = createServer((request, response) => {
      const path = request.url ?? '';
      if (path === `${NAME}.tgz`) return void response.end(packed);
      if (path === NAME) return void response.end(JSON.stringify(published(manifest, packed, url)));
      response.writeHead(302, { location: new URL(path, upstream).href }).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new LocalRegistry(server, url);
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    await once(this.server, 'close');
  }
}

function published(manifest: { version: string }, packed: Buffer, url: string): object {
  const { version } = manifest;
  const integrity = `sha512-${createHash('sha512').update(packed).digest('base64')}`;
  const dist = { tarball: `${url}${NAME}.tgz`, integrity };
  return {
    name: NAME.slice(1),
    'dist-tags': { latest: version },
    versions: { [version]: { ...manifest, dist } },
  };
}
