/**
 * An application made by `nest new` of one version of the Nest CLI, with the packages that it needs
 * to be built, tested and started; its linters are left out.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { freePort } from '../../scripts/servers/free-port.mjs';
import { madeOnce } from '../support/made-once.mjs';
import { ROOT } from '../tidy/tree.js';
import { until } from '../until.js';
import { environmentWith, run, runWith } from './command.js';
const INSTALL = ['install', '--no-audit', '--no-fund', '--prefer-offline'];

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
  private constructor(private readonly folder: string) {}

  /** A copy of its own below a folder; what is copied is made once and kept. */
  static async create(cliVersion: string, below: string): Promise<ScaffoldedApp> {
    const name = `nest-new-${cliVersion}`;
    const made = await madeOnce(name, ['test/package/scaffolded-app.ts'], (folder) =>
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
  await run(folder, 'npm', ...INSTALL, `@nestjs/cli@${cliVersion}`);
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
  await run(app, 'npm', ...INSTALL);
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
