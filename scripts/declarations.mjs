// The types of what is published. A declaration that needs no other package reads the same to
// ES modules and to CommonJS: it is in dist/cjs, once. The rest is in each of the two forms,
// since the types of other packages may depend on who asks.
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, posix } from 'node:path';
import ts from 'typescript';

const LIB = 'dist/lib';

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

/** Without comments on what is private, and indented by tabs. */
const shortened = (/** @type {string} */ text) =>
  text
    .replaceAll(/^ *\/\*\*(?:(?!\*\/).)*\*\/\n(?= *private )/gms, '')
    .replaceAll(/^(?: {4})+/gm, (spaces) => '\t'.repeat(spaces.length / 4));

/** The path of a declaration of CommonJS, seen from one of the ES modules. */
const inCommonJs = (/** @type {string} */ from, /** @type {string} */ path) =>
  `${'../'.repeat(from.split('/').length)}cjs/${path}`;

/** With its imports of what is shared led there. */
function withSharedImports(
  /** @type {string} */ path,
  /** @type {string} */ text,
  /** @type {Set<string>} */ shared,
) {
  const led = (/** @type {string} */ name) => {
    const asked = posix.join(dirname(path), name);
    return shared.has(asked) ? inCommonJs(path, asked) : name;
  };
  return text.replaceAll(/(["'])(\.[^"']*\.js)\1/g, (_, quote, name) => quote + led(name) + quote);
}

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
    await write(`dist/cjs/${path}`, text);
    if (!shared.has(path)) await write(`dist/esm/${path}`, withSharedImports(path, text, shared));
    else if (entries.includes(path)) {
      await write(`dist/esm/${path}`, `export * from '${inCommonJs(path, path)}';\n`);
    }
  }
}

// What users can reach of the declarations: what an entry exports, and whatever that names. Editors
// would offer the rest as well, as if it were there to be used.
//
// It goes by names, without asking the compiler what they mean, which takes far longer. Where two
// things have one name, a declaration too many stays, and never one too few.

/** @returns {(path: string) => string} the text of a declaration file, without the rest */
export function visibleTypes(
  /** @type {readonly string[]} */ entries,
  /** @type {(path: string) => string} */ read,
) {
  /** @type {Map<string, ts.SourceFile>} */
  const files = new Map();
  const parsed = (/** @type {string} */ path) => {
    const file = files.get(path) ?? ts.createSourceFile(path, read(path), ts.ScriptTarget.ESNext);
    files.set(path, file);
    return file;
  };

  /** @type {Set<string>} */
  const asked = new Set();
  const key = (/** @type {string} */ path, /** @type {string} */ name) => `${path} ${name}`;
  function ask(/** @type {string} */ path, /** @type {string} */ name) {
    if (asked.has(key(path, name))) return;
    asked.add(key(path, name));
    for (const statement of parsed(path).statements) {
      const named = specifiersOf(statement)?.find((one) => one.name.text === name);
      if (named) askFrom(path, statement, (named.propertyName ?? named.name).text);
      else if (namesOf(statement).includes(name)) askAll(path, statement);
    }
  }
  /** Asks for a name where `node` imports it from, unless that is another package. */
  function askFrom(
    /** @type {string} */ path,
    /** @type {ts.Node} */ node,
    /** @type {string} */ name,
  ) {
    const from = moduleOf(node);
    if (from?.startsWith('.')) ask(posix.join(dirname(path), from), name);
  }
  function askAll(/** @type {string} */ path, /** @type {ts.Node} */ node) {
    if (ts.isIdentifier(node)) ask(path, node.text);
    if (ts.isImportTypeNode(node)) askFrom(path, node, firstName(node.qualifier));
    ts.forEachChild(node, (child) => askAll(path, child));
  }

  for (const path of entries) {
    for (const statement of parsed(path).statements) {
      for (const name of namesOf(statement)) ask(path, name);
    }
  }
  return (path) => {
    const file = parsed(path);
    const isAsked = (/** @type {string} */ name) => asked.has(key(path, name));
    return file.statements
      .map((statement) => format(file, statement, isAsked))
      .filter((text) => text !== '')
      .join('\n')
      .concat('\n');
  };
}

/** @returns {readonly (ts.ImportSpecifier | ts.ExportSpecifier)[] | undefined} */
function specifiersOf(/** @type {ts.Statement} */ statement) {
  const named = bindingsOf(statement);
  return named && (ts.isNamedImports(named) || ts.isNamedExports(named))
    ? named.elements
    : undefined;
}

function bindingsOf(/** @type {ts.Statement} */ statement) {
  if (ts.isImportDeclaration(statement)) return statement.importClause?.namedBindings;
  return ts.isExportDeclaration(statement) ? statement.exportClause : undefined;
}

/** The names that a statement declares, or hands on to others. */
function namesOf(/** @type {ts.Statement} */ statement) {
  if (ts.isImportDeclaration(statement)) return [];
  const named = ts.isVariableStatement(statement)
    ? statement.declarationList.declarations
    : (specifiersOf(statement) ?? [/** @type {ts.DeclarationStatement} */ (statement)]);
  return named.map(({ name }) => /** @type {ts.Identifier} */ (name).text);
}

function moduleOf(/** @type {ts.Node} */ node) {
  const named = ts.isImportTypeNode(node)
    ? ts.isLiteralTypeNode(node.argument) && node.argument.literal
    : (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier;
  return named && ts.isStringLiteral(named) ? named.text : undefined;
}

function firstName(/** @type {ts.EntityName | undefined} */ name) {
  if (name === undefined) return '';
  return ts.isIdentifier(name) ? name.text : firstName(name.left);
}

/** A statement with its documentation, or what is left of it; '' where nobody asks for it. */
function format(
  /** @type {ts.SourceFile} */ file,
  /** @type {ts.Statement} */ statement,
  /** @type {(name: string) => boolean} */ isAsked,
) {
  const specifiers = specifiersOf(statement);
  const text = statement.getText(file);
  if (specifiers === undefined) {
    const documentation = ts.getLeadingCommentRanges(file.text, statement.pos)?.at(-1);
    const start = documentation?.pos ?? statement.getStart(file);
    return namesOf(statement).some(isAsked) ? file.text.slice(start, statement.end) : '';
  }
  const left = specifiers.filter((one) => isAsked(one.name.text)).map((one) => one.getText(file));
  if (left.length === 0) return specifiers.length === 0 ? text : '';
  return text.replace(/\{[^}]*\}/, `{ ${left.join(', ')} }`);
}
