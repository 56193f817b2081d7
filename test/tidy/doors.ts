/**
 * Looks for doors beside the core, of the kinds through which ids were made twice: a class of ours
 * asked by `instanceof`, which fails for a second copy of the package; state of a module, of which
 * a second copy has another; an error swallowed without a word; a default for a worker id.
 */
import ts from 'typescript';
import { isLib, lineAt, linesOf, type Check, type Finding, type TextFile } from './check.js';
import { lineOf, treeOf, walk } from './syntax.js';

/** The page of the dashboard is one copy in one browser. */
const isLibrary = (file: TextFile): boolean =>
  isLib(file) &&
  /(?<!generated)\.ts$/.test(file.path) &&
  !file.path.startsWith('lib/dashboard/page');

/** Of these there is one in each realm, whoever loads which copy of us. */
const BUILT_IN =
  /^(Error|BigInt|Date|Map|Set|URL|RegExp|Promise|(Shared)?ArrayBuffer|\w+Array|Abort\w+)$/;

/** Asks for a class of ours, or of a package. A name in lower case is a class handed in. */
export const checkInstanceof: Check = (files) =>
  found(files, (node) => {
    if (!ts.isBinaryExpression(node)) return undefined;
    if (node.operatorToken.kind !== ts.SyntaxKind.InstanceOfKeyword) return undefined;
    const asked = node.right.getText();
    if (BUILT_IN.test(asked) || /^[a-z]/.test(asked)) return undefined;
    // A class that its file keeps to itself meets no object of another copy.
    if (new RegExp(`^class ${asked}\\b`, 'm').test(node.getSourceFile().text)) return undefined;
    return `asks \`instanceof ${asked}\`; a second copy of the package has another, ask for a mark`;
  });

const CONTAINER = /^(Map|Set|WeakMap|WeakSet|WeakRef|Array|Object|\w+Array|\w*Buffer)$/;
const WRITES = /^(push|pop|shift|unshift|splice|sort|reverse|fill|set|add|delete|clear)$/;

/** State that belongs to a module, but for the one file that keeps it for the whole process. */
export const checkModuleState: Check = (files) =>
  files
    .filter((file) => isLibrary(file) && !/(^|\/)process-wide\.ts$/.test(file.path))
    .flatMap((file) => {
      const names = topLevelNames(file);
      const stateful = names.filter((name) => isState(name, file));
      return stateful.map((node) => ({
        path: file.path,
        line: lineOf(node),
        message: `keeps \`${node.name.getText()}\` in the module; keep it in process-wide.ts`,
      }));
    });

type Named = ts.VariableDeclaration | ts.PropertyDeclaration;

function topLevelNames(file: TextFile): Named[] {
  const { statements } = treeOf(file);
  const variables = statements
    .filter(ts.isVariableStatement)
    .flatMap(({ declarationList }) => [...declarationList.declarations]);
  const statics = statements
    .filter(ts.isClassDeclaration)
    .flatMap(({ members }) => members.filter(ts.isPropertyDeclaration))
    .filter(({ modifiers = [] }) =>
      modifiers.some(({ kind }) => kind === ts.SyntaxKind.StaticKeyword),
    );
  return [...variables, ...statics];
}

function isState(node: Named, file: TextFile): boolean {
  const isVariable = ts.isVariableDeclaration(node);
  if (isVariable && !(node.parent.flags & ts.NodeFlags.Const)) return true;
  const isReadonly = /^(Readonly|readonly )/.test(node.type?.getText() ?? '');
  const { initializer } = node;
  if (initializer === undefined) return false;
  if (ts.isNewExpression(initializer)) {
    return !isReadonly && CONTAINER.test(initializer.expression.getText());
  }
  const isLiteral =
    ts.isArrayLiteralExpression(initializer) || ts.isObjectLiteralExpression(initializer);
  return isLiteral && isWritten(node.name.getText(), file);
}

/** `x.y = 1`, `x[y] = 1`, `x.push(1)`, `delete x.y`. */
function isWritten(name: string, file: TextFile): boolean {
  let written = false;
  const isPartOf = (node: ts.Node): boolean =>
    (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) &&
    node.expression.getText() === name;
  walk(treeOf(file), (node) => {
    if (ts.isBinaryExpression(node) && isAssignment(node)) written ||= isPartOf(node.left);
    if (ts.isDeleteExpression(node)) written ||= isPartOf(node.expression);
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      written ||= isPartOf(node.expression) && WRITES.test(node.expression.name.text);
    }
  });
  return written;
}

const isAssignment = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;

/** An error that nobody hears of: allowed where a comment inside or just above says why. */
export const checkSwallowed: Check = (files) =>
  found(files, (node, file) => {
    if (ts.isCatchClause(node)) {
      const isSilent = node.block.statements.length === 0 && !isExplained(node.block, file);
      return isSilent ? 'has an empty catch; say why nobody need hear of the error' : undefined;
    }
    const isSilent = isCatchCall(node) && !isExplained(node, file);
    return isSilent ? 'swallows an error by .catch(() => ...); say why above it' : undefined;
  });

/** `.catch(() => ...)`, whose function does not so much as take the error. */
function isCatchCall(node: ts.Node): node is ts.CallExpression {
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return false;
  const [handler] = node.arguments;
  const isFunction =
    handler !== undefined && (ts.isArrowFunction(handler) || ts.isFunctionExpression(handler));
  return node.expression.name.text === 'catch' && isFunction && handler.parameters.length === 0;
}

function isExplained(node: ts.Node, file: TextFile): boolean {
  if (/\/\/|\/\*/.test(node.getText())) return true;
  let statement = node;
  while (statement.parent && !ts.isBlock(statement.parent) && !ts.isSourceFile(statement.parent)) {
    statement = statement.parent;
  }
  const above = linesOf(file.text)[lineOf(statement) - 2] ?? '';
  return ts.isCatchClause(node.parent) ? false : /^\s*(\/\/|\*\/|\/\*)/.test(above);
}

function found(
  files: readonly TextFile[],
  fault: (node: ts.Node, file: TextFile) => string | undefined,
): Finding[] {
  return files.filter(isLibrary).flatMap((file) => {
    const findings: Finding[] = [];
    walk(treeOf(file), (node) => {
      const message = fault(node, file);
      if (message !== undefined) findings.push({ path: file.path, line: lineOf(node), message });
    });
    return findings;
  });
}

/** `?? 'static:1'` in what people copy: two processes without the variable make the same ids. */
export const checkDefaults: Check = (files) =>
  files
    .filter(({ path }) => path.endsWith('.md') || path.startsWith('lib/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/(\?\?|\|\||:-)\s*['"`]?static:/g)].map(({ index }) => ({
        path,
        line: lineAt(text, index),
        message: 'gives a worker id by default; let the start fail without one',
      })),
    );

/** A door that is open until somebody shuts it, by its file and what the finding names. */
export interface OpenDoor {
  readonly path: string;
  readonly names: string;
}

/** The findings, but for the doors that are known; one that is shut must leave the list. */
export function exceptKnown(check: Check, known: readonly OpenDoor[]): Check {
  return (files) => {
    const all = check(files);
    const isOf = ({ path, message }: Finding, door: OpenDoor): boolean =>
      path === door.path && message.includes(door.names);
    const shut = known.filter((door) => !all.some((finding) => isOf(finding, door)));
    return [
      ...all.filter((finding) => !known.some((door) => isOf(finding, door))),
      ...shut.map(({ path, names }) => ({
        path,
        message: `has no door ${names} any more; take it off the list in test/tidy/open-doors.ts`,
      })),
    ];
  };
}
