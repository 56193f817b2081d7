/** Whoever bundles a part of the core gets that part: `textForms` brings no layouts along. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { packedLibrary } from '../support/packed-library.mjs';
import { unpack } from './tarball.js';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(`${tmpdir()}/nestjs-snowflake-parts-`);
  await unpack(await packedLibrary(), `${folder}/library`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** As a bundler for browsers makes it. */
async function bundled(name: string): Promise<string> {
  const contents = `export { ${name} } from './library/dist/esm/core/index.js';`;
  const { outputFiles } = await build({
    bundle: true,
    format: 'esm',
    minify: true,
    stdin: { contents, resolveDir: folder },
    write: false,
  });
  return outputFiles[0]!.text;
}

it('text forms are less than half of what they are with layouts', async () => {
  const [forms, both] = [await bundled('textForms'), await bundled('textForms, layouts')];
  expect(both.length).toBeGreaterThan(15_000);
  expect(forms.length).toBeLessThan(10_000);
});
