/**
 * Runs a command as a user of the package would, in its own folder, and returns its output. A
 * failed command rejects with its whole output for diagnosis.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ROOT } from '../tidy/tree.js';
/** Variables that npm and Jest set for this project. An application must not inherit them. */
const OF_THIS_RUN =
  /^(npm_(package|lifecycle)_|npm_config_local_prefix$|INIT_CWD$|JEST_|NODE_ENV$)/;

export function run(folder: string, command: string, ...args: string[]): Promise<string> {
  return runWith({}, folder, command, ...args);
}

/** @param added environment variables in addition to those of this process */
export function runWith(
  added: Readonly<Record<string, string>>,
  folder: string,
  command: string,
  ...args: string[]
): Promise<string> {
  const env = environmentWith(added);
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd: folder, env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (!error) return resolve(stdout);
      const said = `${stdout}${stderr}`.trim();
      reject(new Error(`\`${command} ${args.join(' ')}\` failed:\n${said}`, { cause: error }));
    });
  });
}

/** The environment of a user's process. */
export function environmentWith(added: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !OF_THIS_RUN.test(name));
  return { ...Object.fromEntries(own), ...added };
}

/** Parses the last line of an output as JSON, because npm first prints the script. */
export function lastLine(output: string): unknown {
  return JSON.parse(output.trim().split('\n').at(-1) ?? '');
}

/*
 * A package registry that has the library, as after a publication, and redirects all other requests
 * to the usual registry. `nest add` needs a package name and accepts no file.
 */

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
