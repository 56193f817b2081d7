/**
 * The application of somebody who has just run `nest new` and now follows the README: the lines are
 * run as they stand, but that the library comes from the tarball and only the lock is written.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { run } from './command.js';

/** What `nest new` writes down, in the current versions. */
const SCAFFOLD = {
  '@nestjs/common': '^12.0.0',
  '@nestjs/core': '^12.0.0',
  '@nestjs/platform-express': '^12.0.0',
  'reflect-metadata': '^0.2.2',
  rxjs: '^7.8.1',
};

/** The first line of a document that installs the library. */
export function installLineOf(document: string): string {
  const line = /^npm install nestjs-snowflake\b.*$/m.exec(document)?.[0];
  if (line === undefined) throw new Error('The document has no line that installs the library');
  return line;
}

export class NewcomersApp {
  private constructor(
    private readonly folder: string,
    private readonly tarball: string,
  ) {}

  static async create(folder: string, tarball: string): Promise<NewcomersApp> {
    await mkdir(folder);
    const manifest = { name: 'newcomer', private: true, dependencies: SCAFFOLD };
    await writeFile(`${folder}/package.json`, JSON.stringify(manifest));
    return new NewcomersApp(folder, tarball);
  }

  /** @throws Error with all that npm said, if it cannot put the packages together */
  async install(line: string): Promise<void> {
    const [npm = '', ...args] = line.split(' ');
    const given = args.map((arg) => (arg === 'nestjs-snowflake' ? this.tarball : arg));
    const quiet = ['--package-lock-only', '--no-audit', '--no-fund', '--prefer-offline'];
    await run(this.folder, npm, ...given, ...quiet);
  }

  /** Of every package at the top, as they would be installed. */
  async versions(): Promise<Record<string, string>> {
    const lock = JSON.parse(await readFile(`${this.folder}/package-lock.json`, 'utf8')) as {
      packages: Record<string, { version: string }>;
    };
    const all = Object.entries(lock.packages);
    return Object.fromEntries(
      all.map(([path, { version }]) => [path.replace(/^node_modules\//, ''), version]),
    );
  }
}
