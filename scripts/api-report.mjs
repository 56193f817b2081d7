// What can be imported from the package, as one text: for each entry its names, and for each name
// its signature as the published declarations have it, without words of documentation and without
// what is private. A change of the text is a change of what users rely on, and CHANGELOG.md tells
// of it.
import { dirname, join } from 'node:path';
import { format } from 'prettier';
import ts from 'typescript';
import { ENTRIES } from './entries.mjs';

/** What no entry exports, and yet a signature names. */
const NOT_EXPORTED = 'named by these, exported by none';

/**
 * @param {string} folder of an unpacked package
 * @returns {Promise<string>} the report
 */
export async function apiReport(folder) {
  const entries = Object.entries(ENTRIES).map(([entry, path]) => ({
    entry: `nestjs-snowflake${entry.slice(1)}`,
    path: join(folder, 'dist/cjs', `${path}.d.ts`),
  }));
  const program = programOf(entries.map(({ path }) => path));
  const checker = program.getTypeChecker();
  const meant = (/** @type {ts.Symbol} */ symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const sections = entries.map(({ entry, path }) => {
    const file = program.getSourceFile(path);
    const module = file && checker.getSymbolAtLocation(file);
    return { entry, symbols: module ? checker.getExportsOfModule(module) : [] };
  });
  /** @type {Map<ts.Symbol, string>} the first entry that exports it, which writes it out */
  const places = new Map();
  const place = (/** @type {ts.Symbol} */ symbol, /** @type {string} */ entry) =>
    places.has(symbol) || places.set(symbol, entry);
  for (const { entry, symbols } of sections) {
    for (const symbol of symbols) place(meant(symbol), entry);
  }
  const others = namedBy([...places.keys()], checker);
  for (const symbol of others) place(symbol, NOT_EXPORTED);

  const texts = [...sections, { entry: NOT_EXPORTED, symbols: others }].map(
    async ({ entry, symbols }) => {
      const sorted = symbols.toSorted((a, b) => (a.name < b.name ? -1 : 1));
      const blocks = sorted.map(async (symbol) => {
        const placed = places.get(meant(symbol));
        const as = isTypeAlone(symbol, checker) ? ' (as a type)' : '';
        const text = placed === entry ? await declared(meant(symbol)) : `as in ${placed}\n`;
        return `## ${symbol.name}${as}\n${text}`;
      });
      return [`# ${entry}\n`, ...(await Promise.all(blocks))].join('\n');
    },
  );
  return (await Promise.all(texts)).join('\n');
}

/** Of the files below the package alone: what others declare is named and not followed. */
function programOf(/** @type {string[]} */ paths) {
  /** @type {ts.CompilerOptions} */
  const options = { noLib: true, types: [], target: ts.ScriptTarget.ESNext };
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (literals, from) =>
    literals.map(({ text }) => ({
      resolvedModule: text.startsWith('.')
        ? {
            resolvedFileName: join(dirname(from), text.replace(/\.js$/, '.d.ts')),
            extension: ts.Extension.Dts,
          }
        : undefined,
    }));
  return ts.createProgram(paths, options, host);
}

/** A class that is exported by `export type` anywhere on its way out cannot be made by the user. */
function isTypeAlone(/** @type {ts.Symbol} */ symbol, /** @type {ts.TypeChecker} */ checker) {
  /** @type {ts.Symbol | undefined} */
  let step = symbol;
  let isNarrowed = false;
  while (step && step.flags & ts.SymbolFlags.Alias) {
    isNarrowed ||= step.declarations?.some(ts.isTypeOnlyImportOrExportDeclaration) ?? false;
    step = checker.getImmediateAliasedSymbol(step);
  }
  return isNarrowed && step !== undefined && (step.flags & ts.SymbolFlags.Value) !== 0;
}

/** Whatever of the package the signatures of these name, and the signatures of that, and so on. */
function namedBy(/** @type {ts.Symbol[]} */ symbols, /** @type {ts.TypeChecker} */ checker) {
  const seen = new Set(symbols);
  const visit = (/** @type {ts.Node} */ node) => {
    if (isPrivate(node)) return;
    const found = ts.isIdentifier(node) ? checker.getSymbolAtLocation(node) : undefined;
    const symbol = found && found.flags & ts.SymbolFlags.Alias ? aliased(found) : found;
    if (symbol?.declarations?.some(isOutermost)) add(symbol);
    ts.forEachChild(node, visit);
  };
  const aliased = (/** @type {ts.Symbol} */ symbol) => checker.getAliasedSymbol(symbol);
  const add = (/** @type {ts.Symbol} */ symbol) => {
    if (seen.has(symbol)) return;
    seen.add(symbol);
    for (const node of symbol.declarations ?? []) visit(node);
  };
  for (const symbol of symbols) for (const node of symbol.declarations ?? []) visit(node);
  return [...seen].slice(symbols.length);
}

function isOutermost(/** @type {ts.Declaration} */ node) {
  const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
  return ts.isSourceFile(statement.parent) && !ts.isImportDeclaration(statement);
}

function isPrivate(/** @type {ts.Node} */ node) {
  if (!ts.isClassElement(node)) return false;
  const isMarked = (ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Private) !== 0;
  return isMarked || (node.name !== undefined && ts.isPrivateIdentifier(node.name));
}

/** Its declarations, one below the other, in the form in which we write code. */
async function declared(/** @type {ts.Symbol} */ symbol) {
  const texts = (symbol.declarations ?? []).map((node) => {
    const statement = ts.isVariableDeclaration(node) ? node.parent.parent : node;
    return withoutPrivate(statement);
  });
  const tag = symbol.getJsDocTags().find(({ name }) => name === 'deprecated');
  const mark = tag === undefined ? '' : `deprecated: ${ts.displayPartsToString(tag.text)}\n`;
  return mark + (await format(texts.join('\n'), FORM));
}

/** @type {import('prettier').Options} */
const FORM = { parser: 'typescript', printWidth: 100, singleQuote: true };
const printer = ts.createPrinter({ removeComments: true });

/** Also without `export declare`, and without the paths of what is named in another file. */
function withoutPrivate(/** @type {ts.Node} */ node) {
  const shown = ts.isClassDeclaration(node)
    ? ts.factory.updateClassDeclaration(
        node,
        node.modifiers,
        node.name,
        node.typeParameters,
        node.heritageClauses,
        node.members.filter((member) => !isPrivate(member)),
      )
    : node;
  return printer
    .printNode(ts.EmitHint.Unspecified, shown, node.getSourceFile())
    .replace(/^(?:export )?(?:default )?(?:declare )?/, '')
    .replaceAll(/import\("\.[^"]*"\)\./g, '');
}

// What a change of the report asks of those who make it.

/**
 * @param {string} report
 * @returns {Map<string, Map<string, string>>} signatures by name, by entry
 */
export function namesIn(report) {
  const sections = report.split(/^# /m).slice(1);
  return new Map(
    sections.map((section) => {
      const [title = '', ...blocks] = section.split(/^## /m);
      /** @type {Map<string, string>} */
      const named = new Map();
      for (const block of blocks) {
        const [, name = '', text = ''] = /^(\S+)(.*)$/s.exec(block.trim()) ?? [];
        // Two that no entry exports may have one name.
        named.set(name, (named.get(name) ?? '') + text);
      }
      return [title.trim(), named];
    }),
  );
}

/**
 * @param {string} before the report that is committed
 * @param {string} after the report of today
 * @returns {{ entry: string, name: string, kind: 'added' | 'changed' | 'removed' }[]}
 */
export function changesBetween(before, after) {
  const [old, now] = [namesIn(before), namesIn(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((entry) => {
    const [was, is] = [old.get(entry) ?? new Map(), now.get(entry) ?? new Map()];
    return [...new Set([...was.keys(), ...is.keys()])]
      .filter((name) => was.get(name) !== is.get(name))
      .map((name) => {
        const kind = !was.has(name) ? 'added' : is.has(name) ? 'changed' : 'removed';
        return { entry, name, kind: /** @type {'added' | 'changed' | 'removed'} */ (kind) };
      });
  });
}

/** The headings of CHANGELOG.md that may list a change. */
const HEADINGS = {
  added: ['Added'],
  changed: ['Changed', 'Removed', 'Deprecated'],
  removed: ['Removed', 'Changed'],
};

/**
 * The changes that CHANGELOG.md does not tell: its first section, of what is to be published next,
 * names each in backticks below the right heading.
 *
 * @param {ReturnType<typeof changesBetween>} changes
 * @param {string} changelog
 */
export function untold(changes, changelog) {
  const [, next = ''] = changelog.split(/^## /m);
  const told = next.split(/^### /m).slice(1);
  const isTold = (/** @type {string} */ name, /** @type {readonly string[]} */ headings) =>
    told.some((group) => {
      const [heading = '', ...lines] = group.split('\n');
      const inTicks = new RegExp(`\`[^\`\\n]*\\b${name}\\b[^\`\\n]*\``);
      return headings.includes(heading.trim()) && inTicks.test(lines.join('\n'));
    });
  return changes
    .filter(({ entry }) => entry !== NOT_EXPORTED)
    .filter(({ name, kind }) => !isTold(name, HEADINGS[kind]))
    .map(({ entry, name, kind }) => {
      const [heading] = HEADINGS[kind];
      return `\`${name}\` of ${entry} is ${kind}: CHANGELOG.md needs a line below "### ${heading}"`;
    });
}
