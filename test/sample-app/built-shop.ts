/**
 * The sample app, built as `npm run build:app` does it, but into a folder of its own: spec files
 * run side by side, and none may read what another one is writing.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ShopProcess } from './shop-process.js';

/** Within the repository, so that the packages are found from there. */
const BUILDS = 'dist/test-builds';

export class BuiltShop {
  private constructor(private readonly folder: string) {}

  static build(): BuiltShop {
    mkdirSync(BUILDS, { recursive: true });
    const folder = mkdtempSync(join(BUILDS, 'shop-'));
    const config = join(folder, 'tsconfig.json');
    const root = '../../..';
    const settings = {
      extends: `${root}/tsconfig.app.json`,
      compilerOptions: { rootDir: root, outDir: '.' },
      include: [`${root}/sample-app/src`],
    };
    writeFileSync(config, JSON.stringify(settings));
    const args = ['nest', 'build', 'sample-app', '--path', config];
    const built = spawnSync('npx', args, { encoding: 'utf8' });
    const shop = new BuiltShop(folder);
    if (built.status === 0) return shop;
    shop.remove();
    throw new Error(`The sample app does not build:\n${built.stdout}`);
  }

  start(env: Record<string, string>, port?: number): Promise<ShopProcess> {
    return ShopProcess.start(join(this.folder, 'sample-app/src/main.js'), env, port);
  }

  /** After the last process of it has ended. */
  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
