// What esbuild made of our modules, as it is published: with names of classes, without comments.
import ts from 'typescript';

/** @returns {string} the text of the module */
export function readable(/** @type {string} */ text) {
  return withTabs(withoutComments(withClassNames(text)));
}

/** esbuild renames a class inside of itself, and with that for everybody: `A = class A2 {}`. */
const RENAMED_CLASS = /\b(\w+) = (?:\w+ = )?class (_?\1\d*)\b/g;

function withClassNames(/** @type {string} */ text) {
  return [...text.matchAll(RENAMED_CLASS)].reduce(
    (all, [, name = '', inside = '']) => all.replaceAll(new RegExp(`\\b${inside}\\b`, 'g'), name),
    text,
  );
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
