// From the compiled library (dist/lib, a module for each file) to what is published: the entries,
// what they share, and their types, as ES modules and once more, in the same form, as CommonJS.
//
// A room that most entries stand on is one module; the core needs no other, so that it loads in a
// moment. What else every application loads is in a few, since each module costs its start half a
// millisecond, and each kilobyte some more. For the rest esbuild finds what entries share, and no
// entry loads a package that it does not need. Generated data (the page, the Lua) is in dist/data,
// once, and so are modules of which two copies would weigh more than they are worth: each as a
// function of what it imports.
//
// Node loads the ES modules, also for require(); CommonJS is for tools that know no other, a Jest
// above all. Both are minified. The ES modules keep the names of classes, methods and outermost
// functions, so that stack traces can be read; CommonJS those of classes and of its exports. What
// was minified is in dist/readable, unpublished: the chaos takes rules out of it.
import { readFileSync } from 'node:fs';
import { mkdir, readFile, readdir, writeFile } from 'node:fs/promises';
import { basename, dirname, posix } from 'node:path';
import { build, transform } from 'esbuild';
import { minify } from 'terser';
import ts from 'typescript';
import { reachable, writeDeclarations } from './declarations.mjs';
import { ENTRIES } from './entries.mjs';

// What esbuild made of our modules, as it is published: with names of classes, each name imported
// once, without comments.

/** @returns {string} the text of the module */
function readable(/** @type {string} */ text) {
  return withoutComments(withEachImportOnce(withClassNames(text)));
}

/** esbuild renames a class inside of itself, and with that for everybody: `A = class A2 {}`. */
const RENAMED_CLASS = /\b(\w+) = (?:\w+ = )?class (_?\1\d*)\b/g;

function withClassNames(/** @type {string} */ text) {
  return [...text.matchAll(RENAMED_CLASS)].reduce(
    (all, [, name = '', inside = '']) => all.replaceAll(new RegExp(`\\b${inside}\\b`, 'g'), name),
    text,
  );
}

const IMPORT = /^import \{ (.*) \} from (".+");\n/gm;
/** The exports of a module, which esbuild writes at its end. */
const EXPORT = /^export \{([^}]*)\};\n/m;
/** An import of one of our own modules. */
const OWN_IMPORT = /^import \{ (.*) \} from ("\..+");\n/gm;
/** The first import of `a` is so named, others of it are `a as a2`. */
const COUNTED = /^(\w+) as (\1\d+)$/;

/** esbuild keeps the imports of each file, and writes some of them on several lines. */
function withEachImportOnce(/** @type {string} */ broken) {
  const text = broken.replaceAll(/^import \{\n {2}([^}]*)\n\} from/gm, (_, names) => {
    return `import { ${names.replaceAll(',\n  ', ', ')} } from`;
  });
  /** @type {Map<string, Set<string>>} the names that are imported, by module */
  const imported = new Map();
  for (const [, names = '', from = ''] of text.matchAll(IMPORT)) {
    imported.set(from, new Set([...(imported.get(from) ?? []), ...names.split(', ')]));
  }
  const [program = ''] = /^#!.*\n/.exec(text) ?? [];
  // No module of ours does anything but export.
  const nothing = /^import \{\} from .+\n/gm;
  let body = text.slice(program.length).replaceAll(IMPORT, '').replaceAll(nothing, '');
  let head = program;
  for (const [from, names] of imported) {
    for (const name of names) {
      const [, first = '', other] = COUNTED.exec(name) ?? [];
      if (!names.has(first)) continue;
      names.delete(name);
      body = body.replaceAll(new RegExp(`\\b${other}\\b`, 'g'), first);
    }
    head += `import { ${[...names].join(', ')} } from ${from};\n`;
  }
  return head + body;
}

/** esbuild leaves out all comments but those inside of classes. */
function withoutComments(/** @type {string} */ text) {
  /** @type {ts.CommentRange[]} */
  const comments = [];
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isClassElement(node))
      comments.push(...(ts.getLeadingCommentRanges(text, node.pos) ?? []));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('module.js', text, ts.ScriptTarget.ESNext));
  return comments.reduceRight(
    (rest, { pos, end }) => rest.slice(0, pos).trimEnd() + rest.slice(end),
    text,
  );
}

const LIB = 'dist/lib';
/** @type {Readonly<Record<string, readonly string[]>>} the modules of whole rooms, by name */
const MODULES = {
  core: ['core', 'errors', 'messages', 'url-schemes', 'options'],
  lease: ['lease', 'time', 'process-wide', 'generator', 'memory'],
  // A folder is small, and loads with the rows that it keeps, and so does what all stores share.
  registry: ['registry', 'rows', 'host', 'store-url', 'refusals', 'packages'],
  lock: ['lock', 'cron'],
  counters: ['counters'],
  // A store at a time is what a process uses, and often for worker ids alone.
  redis: ['redis'],
  'redis-locks': [],
  sql: ['sql'],
  'sql-locks': [],
  etcd: ['etcd'],
  schemes: ['schemes'],
  nest: ['nest'],
};
const paths = Object.values(ENTRIES);

/** The files of dist/lib that these load; what they ask for by import() is not loaded. */
const loadedBy = (/** @type {string[]} */ ...files) =>
  new Set(
    reachable(files, (path) => readFileSync(`${LIB}/${path}`, 'utf8').replaceAll('import(', '')),
  );
/** By every application, whatever it does. */
const always = loadedBy('index.js');
/** By one that leases worker ids; the rest of such a store is for counters, locks, operators. */
const leasing = loadedBy('stores/redis/redis.support.js', 'stores/sql/sql.support.js');

/** The modules whose code is in dist/data: off the path of an id, and nobody uses half of one. */
const ONCE = [
  'testing/index.js',
  'metrics/index.js',
  'dashboard/index.js',
  'shared/counters.js',
  'shared/etcd.js',
];

/** @type {import('esbuild').BuildOptions & { write: false, metafile: true }} */
const SETTINGS = {
  bundle: true,
  charset: 'utf8',
  format: 'esm',
  logLevel: 'warning',
  metafile: true,
  outdir: 'dist/esm',
  packages: 'external',
  platform: 'node',
  target: 'node20',
  write: false,
};

/** The modules of which nothing is loaded with the lease, whatever an application does. */
const APART_FROM_LEASE = ['core', 'schemes', 'nest'];

/** The module that a file of dist/lib is in, if it is in one of these. */
function moduleOf(/** @type {string} */ path) {
  const name = Object.keys(MODULES).find((one) => MODULES[one]?.includes(roomOf(path)));
  if (name === undefined || (name === 'nest' && !always.has(path))) return undefined;
  if (name === 'redis' || name === 'sql') return leasing.has(path) ? name : `${name}-locks`;
  return always.has(path) && !APART_FROM_LEASE.includes(name) ? 'lease' : name;
}

/** @returns {Promise<string>} one module that exports every name of these files */
async function wholeModule(
  /** @type {readonly string[]} */ files,
  /** @type {import('esbuild').Plugin} */ plugin,
) {
  const contents = files.map((path) => `export * from './${path}';`).join('\n');
  const stdin = { contents, resolveDir: LIB };
  const { outputFiles } = await build({ ...SETTINGS, plugins: [plugin], stdin });
  return outputFiles[0].text;
}

/** Stands before the path of a module that is made apart from those that import it. */
const APART = 'apart:';
const dataFile = (/** @type {string} */ path) => `data/${basename(path, '.generated.js')}.cjs`;
const moduleFile = (/** @type {string} */ name) => `shared/${name}.js`;

/** @returns {import('esbuild').Plugin} for all that is in the module `here`, or in none of these */
function apart(/** @type {Set<string>} */ data, /** @type {string | undefined} */ here) {
  return {
    name: 'apart',
    setup(esbuild) {
      esbuild.onResolve({ filter: /^\./ }, ({ path, importer, kind }) => {
        if (kind === 'entry-point' || importer === '<stdin>') return undefined;
        const asked = posix.relative(LIB, posix.join(posix.relative('.', dirname(importer)), path));
        if (asked.endsWith('.generated.js')) {
          data.add(asked);
          return { path: `${APART}${dataFile(asked)}`, external: true };
        }
        const there = moduleOf(asked);
        if (there === here) return undefined;
        if (there) return { path: `${APART}esm/${moduleFile(there)}`, external: true };
        return { errors: [{ text: `${asked} would be in ${here} and elsewhere: say where` }] };
      });
    },
  };
}

/** The entries, the command line and what they share, by their paths below dist/esm. */
async function otherModules(/** @type {import('esbuild').Plugin} */ plugin) {
  const entryPoints = [...paths, 'cli/main'].map((path) => ({
    in: `${LIB}/${path}.js`,
    out: path,
  }));
  const { outputFiles, metafile } = await build({
    ...SETTINGS,
    chunkNames: 'shared/[hash]',
    entryPoints,
    plugins: [plugin],
    splitting: true,
  });
  const names = namesOfChunks(metafile.outputs);
  const named = (/** @type {string} */ text) =>
    [...names].reduce((all, [hash, name]) => all.replaceAll(`${hash}.js`, `${name}.js`), text);
  return new Map(
    outputFiles.map(({ path, text }) => {
      const file = named(posix.relative('dist/esm', posix.relative('.', path)));
      return [file, named(text)];
    }),
  );
}

/** By the room that it hands on, or that most of it comes from, the largest first: nest, nest-2. */
function namesOfChunks(/** @type {import('esbuild').Metafile['outputs']} */ outputs) {
  const chunks = Object.entries(outputs).filter(([path]) => path.includes('/shared/'));
  const taken = new Set(Object.keys(MODULES).map(moduleFile));
  /** @type {Map<string, string>} from the hash of a chunk */
  const names = new Map();
  for (const [path, chunk] of chunks.toSorted(([, a], [, b]) => b.bytes - a.bytes)) {
    const inputs = Object.entries(chunk.inputs);
    const [largest] = inputs.toSorted(([, a], [, b]) => b.bytesInOutput - a.bytesInOutput);
    const room = roomOf(posix.relative(LIB, chunk.entryPoint ?? largest?.[0] ?? LIB));
    const free = [room, ...Array.from(chunks, (_, at) => `${room}-${at + 2}`)];
    const name = free.find((one) => !taken.has(`shared/${one}.js`)) ?? room;
    taken.add(`shared/${name}.js`);
    names.set(basename(path, '.js'), name);
  }
  return names;
}

const roomOf = (/** @type {string} */ path) => path.replace(/^(stores|orm)\//, '').split(/[/.]/)[0];

/** With the paths of what was made apart, and of sources as they are in the repository. */
function finished(/** @type {string} */ path, /** @type {string} */ text) {
  const from = dirname(`dist/esm/${path}`);
  return readable(text)
    .replaceAll(/"apart:([^"]+)"/g, (_, target) => `"${relativePath(from, `dist/${target}`)}"`)
    .replaceAll(/^\/\/ dist\/lib\/(.+)\.js$/gm, '// lib/$1.ts');
}

function relativePath(/** @type {string} */ from, /** @type {string} */ to) {
  const path = posix.relative(from, to);
  return path.startsWith('.') ? path : `./${path}`;
}

/** The module of a room exports what others import from it; the rest is left out if unused. */
function withoutUnasked(/** @type {Map<string, string>} */ modules) {
  const asked = new Set();
  for (const [path, text] of modules) {
    const inModule = (/** @type {string} */ name, /** @type {string} */ from) =>
      asked.add(`${name} ${posix.join(dirname(path), from)}`);
    for (const [, names = '', from = ''] of text.matchAll(/^import \{ (.*) \} from "(\..+)";$/gm)) {
      for (const name of names.split(', ')) inModule(name.split(' ')[0] ?? '', from);
    }
    for (const [, from = '', name = ''] of text.matchAll(/await import\("(\..+)"\)\)\.(\w+)/g)) {
      inModule(name, from);
    }
  }
  for (const path of Object.keys(MODULES).map(moduleFile)) {
    const [exported = '', names = ''] = EXPORT.exec(modules.get(path) ?? '') ?? [];
    const left = names
      .split(',')
      .filter((one) => asked.has(`${one.split(' ').at(-1)?.trim()} ${path}`));
    modules.set(path, (modules.get(path) ?? '').replace(exported, `export {${left.join()}};\n`));
  }
}

/** @typedef {import('terser').MinifyOptions} MinifyOptions */

/** Minified; classes keep their names, for Nest and stack traces show them. */
async function minified(/** @type {string} */ text, /** @type {MinifyOptions} */ settings = {}) {
  const { code = '' } = await minify(text, {
    compress: { passes: 2 },
    ecma: 2020,
    format: {
      // A single other letter doubles what a module is in memory, and the time to read it.
      ascii_only: true,
      max_line_len: 200,
      // Bundlers of ES modules need to know which calls they may leave out.
      preserve_annotations: settings.module === true,
    },
    keep_classnames: true,
    toplevel: true,
    ...settings,
  });
  return `${code}\n`;
}

/** Stands for the # of a method while it is minified: terser would give the method another name. */
const PRIVATE = '$private$';

/** The functions and methods of a module keep their names too. */
async function asEsm(/** @type {string} */ text, names = functionsOf(text)) {
  const definitions = text.matchAll(/^\s+(?:\w+ )*\*?#(\w+)\(.*\{$/gm);
  const methods = new Set(Array.from(definitions, ([, name]) => name));
  const hidden = (/** @type {string} */ all, /** @type {string} */ name) =>
    methods.has(name) ? PRIVATE + name : all;
  const code = await minified(text.replaceAll(/#(\w+)/g, hidden), {
    compress: { inline: false, passes: 2, reduce_funcs: false },
    mangle: { reserved: names },
    module: true,
  });
  return code.replaceAll(PRIVATE, '#');
}

/** A class may be assigned to two names, as decorators have it. */
const isFunction = (/** @type {ts.Expression} */ value) =>
  ts.isArrowFunction(value) || ts.isClassExpression(value) || ts.isBinaryExpression(value);

/** @returns {string[]} the names of the functions that no other is around, and of the classes */
function functionsOf(/** @type {string} */ text) {
  const { statements } = ts.createSourceFile('module.js', text, ts.ScriptTarget.ESNext);
  return statements.flatMap((one) => {
    if (ts.isFunctionDeclaration(one)) return one.name?.text ?? [];
    if (!ts.isVariableStatement(one)) return [];
    return one.declarationList.declarations.flatMap(({ name, initializer: value }) =>
      value && ts.isIdentifier(name) && isFunction(value) ? name.text : [],
    );
  });
}

/**
 * The code of a module as CommonJS that exports one function, `made`, which takes all that the
 * module imports; and the module that is left, in which each form hands in its own imports.
 */
function writtenOnce(/** @type {string} */ path, /** @type {string} */ text) {
  const imports = text.match(IMPORT) ?? [];
  const given = imports.flatMap(namesIn).join();
  const [exported, names = ''] = EXPORT.exec(text) ?? [''];
  const body = text.replaceAll(IMPORT, '').replace(exported, `return {${names}};\n`);
  const file = `data/${basename(path.replace('/index.js', '.js'), '.js')}.cjs`;
  const code = `exports.made = (${given}) => {\n${body}};\n`;
  const from = relativePath(dirname(`dist/esm/${path}`), `dist/${file}`);
  const rest =
    `${imports.join('')}import { made } from "${from}";\n` +
    `const {${names}} = made(${given});\nexport {${names}};\n`;
  return { file, code, rest };
}

/** What a module calls the names that it imports. */
const namesIn = (/** @type {string} */ statement) =>
  statement
    .replace(/^import \{ (.*) \} from .*\n$/, '$1')
    .split(', ')
    .map((one) => one.split(' as ').at(-1));

/** A CommonJS Jest has no import(), only require(). */
async function asCommonJs(/** @type {string} */ text) {
  // Ours are never in a circle, so that each is complete when it is asked for.
  const required = text.replaceAll(OWN_IMPORT, (_, /** @type {string} */ names, from) => {
    return `const { ${names.replaceAll(' as ', ': ')} } = require(${from});\n`;
  });
  const { code } = await transform(required, {
    charset: 'utf8',
    format: 'cjs',
    platform: 'node',
    supported: { 'dynamic-import': false },
    target: 'node20',
  });
  // A bundler leaves out a package that is absent only where require() is itself inside of try.
  return code.replaceAll(/\(\) => (__toESM\(require\("[^.].*?"\)\))/g, (_, load) => {
    return `() => { try { return ${load}; } catch (error) { throw error; } }`;
  });
}

/** No module is in a circle, so all that it exports is there at its end, and gets its name back. */
const withPlainExports = (/** @type {string} */ text) =>
  `Object.defineProperty(exports, '__esModule', { value: true });\n` +
  text.replace(EXPORT, (_, /** @type {string} */ names) =>
    names
      .split(',')
      .map((one) => one.trim().split(' as '))
      .map(([name, exported = name]) => `exports.${exported} = ${name};\n`)
      .join(''),
  ) +
  `for (const [name, it] of Object.entries(exports))
    if (typeof it === 'function') Object.defineProperty(it, 'name', { value: name });\n`;

async function write(/** @type {string} */ path, /** @type {string} */ text) {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

/** @type {Set<string>} */
const data = new Set();
const modules = await otherModules(apart(data));
const textOf = (/** @type {string} */ path) => modules.get(path) ?? '';
const compiled = await readdir(LIB, { recursive: true });
for (const name of Object.keys(MODULES)) {
  const files = compiled.filter(
    (path) => /(?<!\.generated)\.js$/.test(path) && moduleOf(path) === name,
  );
  modules.set(moduleFile(name), await wholeModule(files, apart(data, name)));
}

for (const [path, text] of modules) modules.set(path, finished(path, text));
withoutUnasked(modules);
for (const [path, text] of modules) await write(`dist/readable/${path}`, text);
for (const path of ONCE) {
  const text = textOf(path);
  const { file, code, rest } = writtenOnce(path, text);
  await write(`dist/${file}`, await asEsm(code, functionsOf(text)));
  modules.set(path, rest);
}
for (const [path, text] of modules) {
  // The command line is a program, of which nothing is imported.
  const isProgram = path === 'cli/main.js';
  const code = await (isProgram ? minified(text, { module: true }) : asEsm(text));
  await write(`dist/esm/${path}`, code);
}
const entries = paths.map((path) => `${path}.js`);
// Of a program one form is enough.
for (const path of reachable(entries, textOf)) {
  if (!modules.has(path)) continue;
  const code = await asCommonJs(withPlainExports(textOf(path)));
  await write(`dist/cjs/${path}`, await minified(code));
}
for (const path of data) {
  const text = await readFile(`${LIB}/${path}`, 'utf8');
  const plain = text.replaceAll(/^export const (\w+)/gm, 'exports.$1');
  await write(`dist/${dataFile(path)}`, await asCommonJs(plain));
}
await writeDeclarations(entries);
// The Nest CLI of the application loads them; the package is one folder further up from there.
for (const name of await readdir('schematics')) {
  const text = await readFile(`schematics/${name}`, 'utf8');
  const moved = text.replace("'../package.json'", "'../../package.json'");
  await write(`dist/schematics/${name}`, name.endsWith('.cjs') ? await minified(moved) : text);
}
// The package as a whole is ESM.
await write('dist/cjs/package.json', '{ "type": "commonjs" }\n');
