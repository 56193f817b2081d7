// The types of what is published. A declaration that needs no other package reads the same to
// ES modules and to CommonJS: it is in dist/types, once. The rest is in each of the two forms,
// since the types of other packages may depend on who asks.
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, posix } from 'node:path';
import ts from 'typescript';
import { visibleTypes } from './visible-types.mjs';

const LIB = 'dist/lib';
const FORMATS = ['esm', 'cjs'];

/** Every module that those in `from` import, and they themselves. */
export function reachable(
  /** @type {Iterable<string>} */ from,
  /** @type {(path: string) => string} */ read,
) {
  const seen = new Set(from);
  for (const path of seen) {
    for (const name of importsOf(read(path))) {
      if (name.startsWith('.')) seen.add(posix.join(dirname(path), name));
    }
  }
  return [...seen];
}

const importsOf = (/** @type {string} */ text) =>
  ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);

const declared = (/** @type {string} */ path) =>
  readFileSync(`${LIB}/${path.replace(/\.js$/, '.d.ts')}`, 'utf8');

/** Whether it needs no other package, nor does what it imports; Node itself is none. */
const isShared = (/** @type {string} */ path, /** @type {(path: string) => string} */ read) =>
  reachable([path], read).every((one) =>
    importsOf(read(one)).every((name) => /^(\.|node:)/.test(name)),
  );

/** Without comments on what is private, and indented by two. */
const shortened = (/** @type {string} */ text) =>
  text
    .replaceAll(/^ *\/\*\*(?:(?!\*\/).)*\*\/\n(?= *private )/gms, '')
    .replaceAll(/^(?: {4})+/gm, (spaces) => spaces.slice(spaces.length / 2));

/** With its imports of what is shared led there. */
function withSharedImports(
  /** @type {string} */ path,
  /** @type {string} */ text,
  /** @type {Set<string>} */ shared,
) {
  const up = '../'.repeat(path.split('/').length);
  const led = (/** @type {string} */ name) => {
    const asked = posix.join(dirname(path), name);
    return shared.has(asked) ? `${up}types/${asked}` : name;
  };
  return text.replaceAll(/(["'])(\.[^"']*\.js)\1/g, (_, quote, name) => quote + led(name) + quote);
}

/** What an entry that is shared says in either form. */
const facade = (/** @type {string} */ path) =>
  `export * from '${'../'.repeat(path.split('/').length)}types/${path}';\n`;

/** Writes the declarations of all entries. */
export async function writeDeclarations(/** @type {readonly string[]} */ entries) {
  const write = async (/** @type {string} */ path, /** @type {string} */ text) => {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path.replace(/\.js$/, '.d.ts'), text);
  };
  const visible = visibleTypes(entries, declared);
  const all = reachable(entries, visible);
  const shared = new Set(all.filter((path) => isShared(path, visible)));
  for (const path of all) {
    const text = shortened(visible(path));
    if (shared.has(path)) await write(`dist/types/${path}`, text);
    if (shared.has(path) && !entries.includes(path)) continue;
    const own = shared.has(path) ? facade(path) : withSharedImports(path, text, shared);
    for (const format of FORMATS) await write(`dist/${format}/${path}`, own);
  }
  await write('dist/types/package.json', '{ "type": "commonjs" }\n');
}
