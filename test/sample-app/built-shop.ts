/**
 * The sample app, built as `npm run build:app` does it, but into a folder of its own: spec files
 * run side by side, and none may read what another one is writing. Most tests start it bundled with
 * its packages, which is half of the work; one starts it as it was built.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { run, runWith } from '../package/command.js';
import { bundleInto } from '../support/bundle.mjs';
import { ROOT, madeOnce } from '../support/made-once.mjs';
import { ShopProcess } from './shop-process.js';

const SOURCES = ['lib', 'sample-app', 'nest-cli.json', 'package.json', 'package-lock.json'];
const SETTINGS = ['tsconfig.json', 'tsconfig.app.json', 'test/support/bundle.mjs'];
const MAIN = 'sample-app/src/main.js';
/** By which `npm run start:replicas` prepares a registry. */
const SCHEMES = 'lib/stores/schemes.js';
const BUILT = 'built';

export class BuiltShop {
  private constructor(private readonly folder: string) {}

  static async build(): Promise<BuiltShop> {
    return new BuiltShop(await madeOnce('shop', [...SOURCES, ...SETTINGS], makeInto));
  }

  start(env: Record<string, string>, port?: number): Promise<ShopProcess> {
    return ShopProcess.start(join(this.folder, MAIN), env, port);
  }

  /** Not bundled, as its users start it. */
  startAsBuilt(env: Record<string, string>): Promise<ShopProcess> {
    return ShopProcess.start(join(this.folder, BUILT, MAIN), env);
  }

  /** `npm run start:replicas` to the end, and what it says. */
  replicas(count: number, env: Record<string, string>): Promise<string> {
    const args = ['--check', '--built', this.folder, '--count', String(count)];
    return runWith(env, ROOT, process.execPath, 'scripts/start-replicas.mjs', ...args);
  }
}

async function makeInto(folder: string): Promise<void> {
  const built = join(folder, BUILT);
  mkdirSync(built);
  await compileInto(built);
  await bundleInto(folder, built, [MAIN, SCHEMES]);
}

/** @throws Error with all that the compiler said */
async function compileInto(folder: string): Promise<void> {
  const config = join(folder, 'tsconfig.json');
  const settings = {
    extends: join(ROOT, 'tsconfig.app.json'),
    // `npm run typecheck` has checked it.
    compilerOptions: { rootDir: ROOT, outDir: '.', noCheck: true },
    include: [join(ROOT, 'sample-app/src')],
  };
  writeFileSync(config, JSON.stringify(settings));
  await run(ROOT, 'npx', 'nest', 'build', 'sample-app', '--path', relative(ROOT, config));
}
