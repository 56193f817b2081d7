// An empty PGlite, copied from one that was made once: to make one anew takes seven times as long.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PGlite } from '@electric-sql/pglite';
import { madeOnce } from './made-once.mjs';

const SOURCES = ['test/support/fresh-pglite.mjs', 'node_modules/@electric-sql/pglite/package.json'];

/** @returns {Promise<PGlite>} which whoever asked for it closes */
export async function freshPglite() {
  const folder = await madeOnce('pglite', SOURCES, async (made) => {
    const first = await PGlite.create();
    const files = await first.dumpDataDir('none');
    writeFileSync(join(made, 'data.tar'), Buffer.from(await files.arrayBuffer()));
    await first.close();
  });
  return PGlite.create({ loadDataDir: new Blob([readFileSync(join(folder, 'data.tar'))]) });
}
