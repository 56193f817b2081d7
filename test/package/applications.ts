/** Applications into which tests install the library: those of this folder, and what Nest makes. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, readFile, rename, rm, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { createInterface } from 'node:readline';
import { freePort } from '../../scripts/servers/ports.mjs';
import { ROOT, madeOnce } from '../support/made-once.mjs';
import { until } from '../until.js';
import { environmentWith, lastLine, run, runWith } from './command.js';

// A small application of somebody else: the source that all below consumers/ share, with the
// settings and dependencies of one, installed from the registry and the tarball.

/** Handed in by the application, so that they are no peers; and a second ioredis. */
const HANDED_IN = ['prom-client', '@opentelemetry', 'ioredis-6'];

/** The scripts of packages only report to their makers here, or compile what is there already. */
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

export class ConsumerApp {
  private compiler?: ReturnType<typeof compilerIn>;

  private constructor(private readonly folder: string) {}

  static async install(name: string, below: string, tarball: string): Promise<ConsumerApp> {
    const folder = `${below}/${name}`;
    await linkTree(await installedConsumer(name, tarball), folder);
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

  /**
   * Takes the packages out of node_modules that the library can do without, while `work` runs. What
   * of the application needs none of them is the project tsconfig.without-optional.json.
   */
  async withoutOptional<T>(work: () => Promise<T>): Promise<T> {
    const [installed, aside] = [`${this.folder}/node_modules`, `${this.folder}/aside`];
    // The manifest leaves out some: what would have to be compiled, and other clients of Redis.
    const isThere = (name: string) => existsSync(`${installed}/${name}`);
    const names = [...(await optionalPeers()), ...HANDED_IN].filter(isThere);
    const move = async (from: string, to: string): Promise<void> => {
      for (const name of names) {
        await mkdir(dirname(`${to}/${name}`), { recursive: true });
        await rename(`${from}/${name}`, `${to}/${name}`);
      }
    };
    await move(installed, aside);
    const include = ['src/main.ts', 'src/edge/orders.controller.ts'];
    const project = JSON.stringify({ extends: './tsconfig.json', include });
    await writeFile(`${this.folder}/tsconfig.without-optional.json`, project);
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
export function installedConsumer(name: string, tarball: string): Promise<string> {
  const manifest = `test/package/consumers/${name}/package.json`;
  const sources = [manifest, 'package.json', 'test/package/applications.ts'];
  return madeOnce(name, sources, async (folder) => {
    await cp(`${ROOT}/${manifest}`, `${folder}/package.json`);
    await run(folder, 'npm', ...INSTALL, tarball);
  });
}

/** Bundlers and package managers, exactly as their lock file says. */
export function installedTools(): Promise<string> {
  const sources = ['package.json', 'package-lock.json'].map(
    (name) => `test/package/consumers/tools/${name}`,
  );
  return madeOnce('tools', sources, async (folder) => {
    for (const path of sources) await cp(`${ROOT}/${path}`, `${folder}/${basename(path)}`);
    await run(folder, 'npm', 'ci', '--no-audit', '--no-fund');
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

// An application made by `nest new` of one version of the Nest CLI, with the packages that it needs
// to be built, tested and started; its linters are left out.

const SCAFFOLD_INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline'];

const LEFT_OUT = /^(@?eslint|oxlint|prettier|globals|typescript-eslint|@nestjs\/mau|@vitest\/)/;

/** Of the Nest CLI. */
export const NEST_VERSIONS = { 11: '11.0.24', 12: '12.0.8' } as const;

export type NestMajor = keyof typeof NEST_VERSIONS;

/** Whether packages have known faults or newer versions is not what is tested. */
export const UNASKED = {
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_prefer_offline: 'true',
};

type Env = Readonly<Record<string, string>>;

interface Manifest {
  readonly devDependencies: Record<string, string>;
}

export class ScaffoldedApp {
  private constructor(readonly folder: string) {}

  /** A copy of its own below a folder; what is copied is made once and kept. */
  static async create(cliVersion: string, below: string): Promise<ScaffoldedApp> {
    const name = `nest-new-${cliVersion}`;
    const made = await madeOnce(name, ['test/package/applications.ts'], (folder) =>
      scaffold(cliVersion, folder),
    );
    const app = `${below}/${name}`;
    // Node takes several times as long over so many files.
    await run(below, 'cp', '-RP', `${made}/shop`, app);
    return new ScaffoldedApp(app);
  }

  read(path: string): Promise<string> {
    return readFile(`${this.folder}/${path}`, 'utf8');
  }

  write(path: string, text: string): Promise<void> {
    return writeFile(`${this.folder}/${path}`, text);
  }

  nest(env: Env, ...args: string[]): Promise<string> {
    return runWith(env, this.folder, 'node_modules/.bin/nest', ...args);
  }

  npm(env: Env, ...args: string[]): Promise<string> {
    return runWith(env, this.folder, 'npm', ...args);
  }

  /** As a user types it, with the programs of the application's packages at hand. */
  shell(env: Env, line: string): Promise<string> {
    const PATH = `${this.folder}/node_modules/.bin:${process.env['PATH']}`;
    return runWith({ ...env, PATH }, this.folder, 'sh', '-c', line);
  }

  bin(name: string, ...args: string[]): Promise<string> {
    return run(this.folder, `node_modules/.bin/${name}`, ...args);
  }

  /** Of every file but those of packages and of builds, by a digest. */
  async state(): Promise<Record<string, string>> {
    const entries = await readdir(this.folder, { recursive: true, withFileTypes: true });
    const paths = entries
      .filter((entry) => entry.isFile() && !/\/(node_modules|dist)(\/|$)/.test(entry.parentPath))
      .map((entry) => `${entry.parentPath}/${entry.name}`);
    const digest = async (path: string): Promise<[string, string]> => {
      const hash = createHash('sha1').update(await readFile(path));
      return [path.slice(this.folder.length + 1), hash.digest('hex')];
    };
    return Object.fromEntries(await Promise.all(paths.map(digest)));
  }

  /**
   * Runs `npm start` while `ask` asks, and answers what it was told; then ends it by SIGTERM.
   *
   * @param ask is given the address and what the application has said so far
   */
  async whileStarted<T>(
    ask: (url: string, said: () => string) => Promise<T>,
    more: Env = {},
  ): Promise<T> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = { ...environmentWith(more), NODE_ENV: '', PORT: `${port}` };
    // A group of its own: the Nest CLI starts the application as a process below it.
    const options = { cwd: this.folder, env, detached: true } as const;
    const child = spawn('npm', ['start'], options);
    let hasEnded = false;
    const ended = once(child, 'close').finally(() => (hasEnded = true));
    let said = '';
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text: string) => (said += text));
    }
    try {
      // It listens a moment after it has said that it has started.
      await until(async () => hasEnded || isAnswered(url));
      if (hasEnded) throw new Error(`The application did not start:\n${said}`);
      return await ask(url, () => said);
    } finally {
      if (!hasEnded) process.kill(-child.pid!, 'SIGTERM');
      await ended;
    }
  }
}

/** Makes the application `shop` in this folder. */
async function scaffold(cliVersion: string, folder: string): Promise<void> {
  await writeFile(`${folder}/package.json`, '{ "private": true }\n');
  await run(folder, 'npm', ...SCAFFOLD_INSTALL, `@nestjs/cli@${cliVersion}`);
  const quiet = ['--skip-install', '--skip-git', '--package-manager', 'npm'];
  await run(folder, 'node_modules/.bin/nest', 'new', 'shop', ...quiet);
  const app = `${folder}/shop`;
  // What is installed already need not be installed again.
  await rename(`${folder}/node_modules`, `${app}/node_modules`);
  const manifest = JSON.parse(await readFile(`${app}/package.json`, 'utf8')) as Manifest;
  const kept = Object.entries(manifest.devDependencies).filter(([name]) => !LEFT_OUT.test(name));
  const devDependencies = Object.fromEntries(kept);
  const trimmed = `${JSON.stringify({ ...manifest, devDependencies }, null, 2)}\n`;
  await writeFile(`${app}/package.json`, trimmed);
  await run(app, 'npm', ...SCAFFOLD_INSTALL);
}

const isAnswered = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

/*
 * What a document tells a newcomer to do in an application of `nest new`: the line that installs,
 * the files that it shows, and the call with its answer. Nothing is written here a second time.
 */

export interface PrintedSteps {
  /** As it stands there, for this version of Nest. */
  installLine(nestMajor: number): string;
  /** By their paths, the texts of the blocks that follow a path. */
  readonly files: ReadonlyMap<string, string>;
  /** What is asked of the application, and what is shown as its answer. */
  readonly curl: { readonly path: string; readonly answer: string };
}

export async function printedSteps(document: string): Promise<PrintedSteps> {
  const text = await readFile(`${ROOT}/${document}`, 'utf8');
  const found = (pattern: RegExp): readonly string[] => {
    const match = pattern.exec(text);
    if (match === null) throw new Error(`${document} has nothing like ${pattern.source}`);
    return match.slice(1);
  };
  const format = text.matchAll(/^`(src\/[\w.]+\.ts)`.*:\n\n```ts\n([^]*?)^```$/gm);
  const [path = '', answer = ''] = found(/^\$ curl http:\/\/localhost:3000(\S+)\n(.*)$/m);
  return {
    installLine: (major) => found(new RegExp(`^(npm install .*?) +# Nest ${major}$`, 'm'))[0]!,
    files: new Map([...format].map(([, file = '', code = '']) => [file, code])),
    curl: { path, answer },
  };
}

/** The text of a root module that imports these modules, as its author would write it. */
export function withImports(rootModule: string, files: readonly string[]): string {
  const ending = /from '\.\/app\.controller(\.js)?'/.exec(rootModule)?.[1] ?? '';
  const modules = files.map((file) => {
    const name = /^src\/(\w+)\.module\.ts$/.exec(file)![1]!;
    return { name: `${name[0]!.toUpperCase()}${name.slice(1)}Module`, from: `./${name}.module` };
  });
  const lines = modules.map(({ name, from }) => `import { ${name} } from '${from}${ending}';\n`);
  const list = modules.map(({ name }) => name).join(', ');
  return lines.join('') + rootModule.replace('imports: []', `imports: [${list}]`);
}
