/** Applications into which tests install the library: those of this folder and of `nest new`. */
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

// A small application of a user: the source that all applications below consumers/ share, with the
// settings and dependencies of one of them, installed from the registry and the tarball.

/** Packages that the application passes in, so they are not peers, and a second ioredis. */
const HANDED_IN = ['prom-client', '@opentelemetry', 'ioredis-6'];

/** The install scripts of these packages only report to their authors, or compile again. */
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

export class ConsumerApp {
  private compiler?: ReturnType<typeof compilerIn>;

  private constructor(private readonly folder: string) {}

  static async install(name: string, below: string, tarball: string): Promise<ConsumerApp> {
    const folder = `${below}/${name}`;
    await linkTree(await installedConsumer(name, tarball), folder);
    // Copying package.json would write through its hard link, so npm's version stays.
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

  /** Compiles a project of the application, and returns the errors. */
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

  /** Runs a script of the application's package.json, and returns its last line. */
  async script(name: string, env: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const manifest = await readFile(`${this.folder}/package.json`, 'utf8');
    const { scripts } = JSON.parse(manifest) as { scripts: Record<string, string> };
    // The same as `npm run`, without npm's own half second.
    return lastLine(await runWith(env, this.folder, 'sh', '-c', scripts[name]!));
  }

  /** Runs a program that npm linked for a package of the application. */
  bin(name: string, ...args: string[]): Promise<string> {
    return run(this.folder, process.execPath, `node_modules/.bin/${name}`, ...args);
  }

  /** Runs a file of probes/ inside the application, and returns its result. */
  async probe(name: string, ...args: string[]): Promise<unknown> {
    return lastLine(await run(this.folder, process.execPath, `${name}.mjs`, ...args));
  }

  /**
   * Moves the optional packages out of node_modules while `work` runs. The project
   * tsconfig.without-optional.json contains the parts of the application that need none of them.
   */
  async withoutOptional<T>(work: () => Promise<T>): Promise<T> {
    const [installed, aside] = [`${this.folder}/node_modules`, `${this.folder}/aside`];
    // The manifest omits packages that need compilation, and other Redis clients.
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

/** A process that compiles the requested projects one after another: probes/compile.mjs. */
function compilerIn(folder: string) {
  const options = { cwd: folder, env: environmentWith({}) };
  const { stdin, stdout, stderr } = spawn(process.execPath, ['compile.mjs'], options);
  stderr.pipe(process.stderr);
  return { stdin, answers: createInterface({ input: stdout })[Symbol.asyncIterator]() };
}

/** Creates hard links, or copies if the folders are in different file systems. */
async function linkTree(from: string, to: string): Promise<void> {
  try {
    await run(ROOT, 'cp', '-RPl', from, to);
  } catch {
    await rm(to, { recursive: true, force: true });
    await run(ROOT, 'cp', '-RP', from, to);
  }
}

/** Installs all packages with npm. Of the library, only its dependencies matter here. */
export function installedConsumer(name: string, tarball: string): Promise<string> {
  const manifest = `test/package/consumers/${name}/package.json`;
  const sources = [manifest, 'package.json', 'test/package/applications.ts'];
  return madeOnce(name, sources, async (folder) => {
    await cp(`${ROOT}/${manifest}`, `${folder}/package.json`);
    await run(folder, 'npm', ...INSTALL, tarball);
  });
}

/** Bundlers and package managers, in the exact versions of their lock file. */
export function installedTools(): Promise<string> {
  const sources = ['package.json', 'package-lock.json'].map(
    (name) => `test/package/consumers/tools/${name}`,
  );
  return madeOnce('tools', sources, async (folder) => {
    for (const path of sources) await cp(`${ROOT}/${path}`, `${folder}/${basename(path)}`);
    await run(folder, 'npm', 'ci', '--no-audit', '--no-fund');
  });
}

/** The optional peers that the package declares. */
async function optionalPeers(): Promise<string[]> {
  const declared = JSON.parse(await readFile(`${ROOT}/package.json`, 'utf8')) as {
    peerDependenciesMeta: Record<string, { optional?: boolean }>;
  };
  const peers = Object.entries(declared.peerDependenciesMeta);
  return peers.filter(([, { optional }]) => optional).map(([name]) => name);
}

// An application from `nest new` of one Nest CLI version, with the packages that it needs to build,
// test and start, but without its linters.

const SCAFFOLD_INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline'];

const LEFT_OUT = /^(@?eslint|oxlint|prettier|globals|typescript-eslint|@nestjs\/mau|@vitest\/)/;

/** The versions of the Nest CLI. */
export const NEST_VERSIONS = { 11: '11.0.24', 12: '12.0.8' } as const;

export type NestMajor = keyof typeof NEST_VERSIONS;

/** These tests do not check packages for vulnerabilities or newer versions. */
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

  /** Copies the application below a folder. The original is created once and kept. */
  static async create(cliVersion: string, below: string): Promise<ScaffoldedApp> {
    const name = `nest-new-${cliVersion}`;
    const made = await madeOnce(name, ['test/package/applications.ts'], (folder) =>
      scaffold(cliVersion, folder),
    );
    const app = `${below}/${name}`;
    // Node takes several times as long to copy so many files.
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

  /** A digest of every file, except for packages and builds. */
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
   * Runs `npm start` while `ask` runs, ends it with SIGTERM, and returns the result of `ask`.
   *
   * @param ask receives the address and a function that returns the output so far
   */
  async whileStarted<T>(
    ask: (url: string, said: () => string) => Promise<T>,
    more: Env = {},
  ): Promise<T> {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const env = { ...environmentWith(more), NODE_ENV: '', PORT: `${port}` };
    // A separate process group, because the Nest CLI starts the application as a child process.
    const options = { cwd: this.folder, env, detached: true } as const;
    const child = spawn('npm', ['start'], options);
    let hasEnded = false;
    const ended = once(child, 'close').finally(() => (hasEnded = true));
    let said = '';
    for (const output of [child.stdout, child.stderr]) {
      output.setEncoding('utf8').on('data', (text: string) => (said += text));
    }
    try {
      // The application listens a moment after it logs its start.
      await until(async () => hasEnded || isAnswered(url));
      if (hasEnded) throw new Error(`The application did not start:\n${said}`);
      return await ask(url, () => said);
    } finally {
      if (!hasEnded) process.kill(-child.pid!, 'SIGTERM');
      await ended;
    }
  }
}

/** Creates the application `shop` in this folder. */
async function scaffold(cliVersion: string, folder: string): Promise<void> {
  await writeFile(`${folder}/package.json`, '{ "private": true }\n');
  await run(folder, 'npm', ...SCAFFOLD_INSTALL, `@nestjs/cli@${cliVersion}`);
  const quiet = ['--skip-install', '--skip-git', '--package-manager', 'npm'];
  await run(folder, 'node_modules/.bin/nest', 'new', 'shop', ...quiet);
  const app = `${folder}/shop`;
  // Reuses the installed packages.
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
 * The steps of a document for an application of `nest new`: the install line, the files, and the
 * call with its result. The test reads them from the document instead of repeating them.
 */

export interface PrintedSteps {
  /** The install line of the document for this version of Nest. */
  installLine(nestMajor: number): string;
  /** The code blocks that follow a path, by that path. */
  readonly files: ReadonlyMap<string, string>;
  /** The request to the application, and the documented response. */
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

/** The source of a root module that imports these modules, as its author would write it. */
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
