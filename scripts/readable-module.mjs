// What esbuild made of our modules, as it is published: with names of classes, each name imported
// once, without comments.
import ts from 'typescript';

/** @returns {string} the text of the module */
export function readable(/** @type {string} */ text) {
  return withTabs(withoutComments(withEachImportOnce(withClassNames(text))));
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
/** The first import of `a` is so named, others of it are `a as a2`. */
const COUNTED = /^(\w+) as (\1\d+)$/;

/** esbuild keeps the imports of each file. */
function withEachImportOnce(/** @type {string} */ text) {
  /** @type {Map<string, Set<string>>} the names that are imported, by module */
  const imported = new Map();
  for (const [, names = '', from = ''] of text.matchAll(IMPORT)) {
    imported.set(from, new Set([...(imported.get(from) ?? []), ...names.split(', ')]));
  }
  const [program = ''] = /^#!.*\n/.exec(text) ?? [];
  let body = text.slice(program.length).replaceAll(IMPORT, '');
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

/** Half as many characters as two spaces, which are a tenth of all that there is. */
function withTabs(/** @type {string} */ text) {
  /** @type {ts.Node[]} */
  const templates = [];
  const visit = (/** @type {ts.Node} */ node) => {
    if (ts.isTemplateLiteral(node)) templates.push(node);
    else ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile('module.js', text, ts.ScriptTarget.ESNext));
  const isQuoted = (/** @type {number} */ at) => templates.some((t) => t.pos < at && at < t.end);
  return text.replaceAll(/^(?: {2})+/gm, (spaces, /** @type {number} */ at) =>
    isQuoted(at) ? spaces : '\t'.repeat(spaces.length / 2),
  );
}
