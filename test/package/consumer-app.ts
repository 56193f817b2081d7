/**
 * A small application of somebody else: the source that all below consumers/ share, with the
 * settings and dependencies of one, installed from the registry and the tarball.
 */
import { cp, mkdir, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ROOT } from '../tidy/tree.js';
import { lastLine, run, runWith } from './command.js';

/** Handed in by the application, so that they are no peers; and a second ioredis. */
const HANDED_IN = ['prom-client', '@opentelemetry', 'ioredis-6'];

const INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline'];

export class ConsumerApp {
  private constructor(private readonly folder: string) {}

  static async install(name: string, below: string, tarball: string): Promise<ConsumerApp> {
    const folder = `${below}/${name}`;
    for (const part of ['consumers/shared', `consumers/${name}`, 'probes']) {
      await cp(`${ROOT}/test/package/${part}`, folder, { recursive: true });
    }
    await run(folder, 'npm', ...INSTALL, tarball);
    return new ConsumerApp(folder);
  }

  /** Runs a script of the application's package.json. */
  script(name: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    return runWith(env, this.folder, 'npm', 'run', name);
  }

  /** Runs a program that a package of the application brought. */
  bin(name: string, ...args: string[]): Promise<string> {
    return run(this.folder, 'npx', '--no-install', name, ...args);
  }

  /** Compiles with the application's own TypeScript. */
  typecheck(project: string): Promise<string> {
    return run(this.folder, 'node_modules/.bin/tsc', '--noEmit', '--project', project);
  }

  /** Runs a file of probes/ inside the application and answers what it found. */
  async probe(name: string): Promise<unknown> {
    return lastLine(await run(this.folder, process.execPath, `${name}.mjs`));
  }

  /** Takes the packages out of node_modules that the library can do without, while `work` runs. */
  async withoutOptional<T>(work: () => Promise<T>): Promise<T> {
    const [installed, aside] = [`${this.folder}/node_modules`, `${this.folder}/aside`];
    // What would have to be compiled, and what is known by shape alone, was never there.
    const isThere = (name: string) => !['better-sqlite3', '@prisma/client'].includes(name);
    const names = [...(await optionalPeers()), ...HANDED_IN].filter(isThere);
    const move = async (from: string, to: string): Promise<void> => {
      for (const name of names) {
        await mkdir(dirname(`${to}/${name}`), { recursive: true });
        await rename(`${from}/${name}`, `${to}/${name}`);
      }
    };
    await move(installed, aside);
    try {
      return await work();
    } finally {
      await move(aside, installed);
    }
  }
}

/** As the package declares them. */
async function optionalPeers(): Promise<string[]> {
  const declared = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as {
    peerDependenciesMeta: Record<string, { optional?: boolean }>;
  };
  const peers = Object.entries(declared.peerDependenciesMeta);
  return peers.filter(([, { optional }]) => optional).map(([name]) => name);
}
