/**
 * The sample app, built as `npm run build:app` does it, but into a folder of its own: spec files
 * run side by side, and none may read what another one is writing.
 */
import { writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { run, runWith } from '../package/command.js';
import { ROOT, madeOnce } from '../support/made-once.mjs';
import { ShopProcess } from './shop-process.js';

const SOURCES = ['lib', 'sample-app', 'nest-cli.json', 'package.json'];
const SETTINGS = ['tsconfig.json', 'tsconfig.app.json'];

export class BuiltShop {
  private constructor(private readonly folder: string) {}

  static async build(): Promise<BuiltShop> {
    return new BuiltShop(await madeOnce('shop', [...SOURCES, ...SETTINGS], compileInto));
  }

  start(env: Record<string, string>, port?: number): Promise<ShopProcess> {
    return ShopProcess.start(join(this.folder, 'sample-app/src/main.js'), env, port);
  }

  /** `npm run start:replicas` to the end, and what it says. */
  replicas(count: number, env: Record<string, string>): Promise<string> {
    const args = ['--check', '--built', this.folder, '--count', String(count)];
    return runWith(env, ROOT, process.execPath, 'scripts/start-replicas.mjs', ...args);
  }
}

/** @throws Error with all that the compiler said */
async function compileInto(folder: string): Promise<void> {
  const config = join(folder, 'tsconfig.json');
  const settings = {
    extends: join(ROOT, 'tsconfig.app.json'),
    compilerOptions: { rootDir: ROOT, outDir: '.' },
    include: [join(ROOT, 'sample-app/src')],
  };
  writeFileSync(config, JSON.stringify(settings));
  await run(ROOT, 'npx', 'nest', 'build', 'sample-app', '--path', relative(ROOT, config));
}
