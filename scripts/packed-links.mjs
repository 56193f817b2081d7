// Before a pack the links of packed pages to what stays in the repository become absolute, and
// after it (`--undo`) the pages are as they were: prepack and postpack of package.json.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';

const BEFORE = '.data/before-pack';
const LINK = /(!?)(\[[^\]]*\]\()(?![\w+.-]+:|#)([^)\s#]+)/g;

function undo() {
  if (!existsSync(BEFORE)) return;
  cpSync(BEFORE, '.', { recursive: true });
  rmSync(BEFORE, { recursive: true });
}

undo();
if (!process.argv.includes('--undo')) {
  const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
  const address = repository.url.replace(/^git\+|\.git$/g, '');
  const list = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const said = JSON.parse(execFileSync('npm', list, { encoding: 'utf8' }));
  /** @type {string[]} */
  const paths = Object.values(said)[0].files.map((/** @type {{ path: string }} */ one) => one.path);
  for (const path of paths.filter((one) => one.endsWith('.md'))) {
    const text = readFileSync(path, 'utf8');
    const packed = text.replaceAll(LINK, (all, picture, label, to) => {
      const target = posix.join(posix.dirname(path), to);
      if (paths.includes(target)) return all;
      return `${picture}${label}${address}/${picture ? 'raw' : 'blob'}/v${version}/${target}`;
    });
    if (packed === text) continue;
    mkdirSync(dirname(join(BEFORE, path)), { recursive: true });
    cpSync(path, join(BEFORE, path));
    writeFileSync(path, packed);
  }
}
