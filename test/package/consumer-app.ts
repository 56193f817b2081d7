/**
 * A small application of somebody else: the source that all below consumers/ share, with the
 * settings and dependencies of one, installed from the registry and the tarball.
 */
import { spawn } from 'node:child_process';
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT, madeOnce } from '../support/made-once.mjs';
import { environmentWith, lastLine, run, runWith } from './command.js';

/** Handed in by the application, so that they are no peers; and a second ioredis. */
const HANDED_IN = ['prom-client', '@opentelemetry', 'ioredis-6'];

/** The scripts of packages only report to their makers here, or compile what is there already. */
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

export class ConsumerApp {
  private compiler?: ReturnType<typeof compilerIn>;

  private constructor(private readonly folder: string) {}

  static async install(name: string, below: string, tarball: string): Promise<ConsumerApp> {
    const folder = `${below}/${name}`;
    await linkTree(await installed(name, tarball), folder);
    // Nothing may be written to a link: package.json is as npm has left it.
    const isOurs = (path: string): boolean => basename(path) !== 'package.json';
    for (const part of ['consumers/shared', `consumers/${name}`, 'probes']) {
      await cp(`${ROOT}/test/package/${part}`, folder, { recursive: true, filter: isOurs });
    }
    const library = `${folder}/node_modules/nestjs-snowflake`;
    await rm(library, { recursive: true });
    await mkdir(library);
    await run(library, 'tar', 'xzf', tarball, '--strip-components=1');
    return new ConsumerApp(folder);
  }

  /** Compiles a project of the application, and answers what was said of it. */
  async compile(...project: readonly string[]): Promise<unknown> {
    this.compiler ??= compilerIn(this.folder);
    this.compiler.stdin.write(`${project.join(' ')}\n`);
    const { value, done } = await this.compiler.answers.next();
    if (done) throw new Error('The compiler has ended without an answer');
    return JSON.parse(value);
  }

  close(): void {
    this.compiler?.stdin.end();
  }

  /** Runs a script of the application's package.json, and answers its last line. */
  async script(name: string, env: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const manifest = await readFile(`${this.folder}/package.json`, 'utf8');
    const { scripts } = JSON.parse(manifest) as { scripts: Record<string, string> };
    // As `npm run` does it, without the half second of npm itself.
    return lastLine(await runWith(env, this.folder, 'sh', '-c', scripts[name]!));
  }

  /** Runs a program that a package of the application brought, and that npm links to. */
  bin(name: string, ...args: string[]): Promise<string> {
    return run(this.folder, process.execPath, `node_modules/.bin/${name}`, ...args);
  }

  /** Runs a file of probes/ inside the application and answers what it found. */
  async probe(name: string, ...args: string[]): Promise<unknown> {
    return lastLine(await run(this.folder, process.execPath, `${name}.mjs`, ...args));
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

/** A process that compiles what it is asked to, one project after another: probes/compile.mjs. */
function compilerIn(folder: string) {
  const options = { cwd: folder, env: environmentWith({}) };
  const { stdin, stdout, stderr } = spawn(process.execPath, ['compile.mjs'], options);
  stderr.pipe(process.stderr);
  return { stdin, answers: createInterface({ input: stdout })[Symbol.asyncIterator]() };
}

/** As hard links, or as copies where the two lie in different file systems. */
async function linkTree(from: string, to: string): Promise<void> {
  try {
    await run(ROOT, 'cp', '-RPl', from, to);
  } catch {
    await rm(to, { recursive: true, force: true });
    await run(ROOT, 'cp', '-RP', from, to);
  }
}

/** With all packages by npm; of the library it is only what it asks for that counts. */
function installed(name: string, tarball: string): Promise<string> {
  const manifest = `test/package/consumers/${name}/package.json`;
  const sources = [manifest, 'package.json', 'test/package/consumer-app.ts'];
  return madeOnce(name, sources, async (folder) => {
    await cp(`${ROOT}/${manifest}`, `${folder}/package.json`);
    await run(folder, 'npm', ...INSTALL, tarball);
  });
}

/** As the package declares them. */
async function optionalPeers(): Promise<string[]> {
  const declared = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as {
    peerDependenciesMeta: Record<string, { optional?: boolean }>;
  };
  const peers = Object.entries(declared.peerDependenciesMeta);
  return peers.filter(([, { optional }]) => optional).map(([name]) => name);
}
