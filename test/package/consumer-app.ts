/**
 * A small application of somebody else: a copy of one below consumers/, with its own dependencies
 * and the packed library installed from the registry and the tarball.
 */
import { cp, mkdir, rename } from 'node:fs/promises';
import { ROOT } from '../tidy/tree.js';
import { lastLine, run } from './command.js';

/** Optional clients, which the library must do without until they are wanted. */
const CLIENTS = ['ioredis', 'ioredis-6', 'typeorm'];

const INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline'];

export class ConsumerApp {
  private constructor(private readonly folder: string) {}

  static async install(name: string, below: string, tarball: string): Promise<ConsumerApp> {
    const folder = `${below}/${name}`;
    await cp(`${ROOT}/test/package/consumers/${name}`, folder, { recursive: true });
    await cp(`${ROOT}/test/package/probes`, folder, { recursive: true });
    await run(folder, 'npm', ...INSTALL, tarball);
    return new ConsumerApp(folder);
  }

  /** Runs a script of the application's package.json. */
  script(name: string): Promise<string> {
    return run(this.folder, 'npm', 'run', name);
  }

  /** Compiles with the application's own TypeScript. */
  typecheck(project: string): Promise<string> {
    return run(this.folder, 'node_modules/.bin/tsc', '--noEmit', '--project', project);
  }

  /** Runs a file of probes/ inside the application and answers what it found. */
  async probe(name: string): Promise<unknown> {
    return lastLine(await run(this.folder, process.execPath, `${name}.mjs`));
  }

  /** Takes the clients out of node_modules while `work` runs. */
  async withoutClients<T>(work: () => Promise<T>): Promise<T> {
    const [installed, aside] = [`${this.folder}/node_modules`, `${this.folder}/aside`];
    await mkdir(aside, { recursive: true });
    const move = (from: string, to: string): Promise<unknown> =>
      Promise.allSettled(CLIENTS.map((name) => rename(`${from}/${name}`, `${to}/${name}`)));
    await move(installed, aside);
    try {
      return await work();
    } finally {
      await move(aside, installed);
    }
  }
}
