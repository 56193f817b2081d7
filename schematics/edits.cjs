// @ts-check
'use strict';
// Edits of an application's sources, found with its own TypeScript and made in the text, so that
// everything else stays as it was: quotes, semicolons, indentation and ends of lines. In one file:
// every edit is made of the same few looks at a tree.
//
// Guarantee: what is not understood is not edited.

/**
 * @typedef {typeof import('typescript')} TypeScript
 * @typedef {import('typescript').Node} Node
 * @typedef {import('typescript').SourceFile} SourceFile
 * @typedef {{ at: number, to?: number, text: string }} Edit
 * @typedef {{ eol: string, unit: string, quote: string, end: string }} Style
 */

/**
 * The text of a root module with the modules that are missing.
 * @returns {string | { reason: string }} or why it is not understood
 */
function withModules(
  /** @type {TypeScript} */ ts,
  /** @type {string} */ text,
  /** @type {{ schedule: boolean, snowflake: boolean }} */ missing,
) {
  const file = parsed(ts, text);
  const [module, other] = moduleArguments(ts, file);
  if (module === undefined || other !== undefined)
    return { reason: 'one class with `@Module({ ... })` was expected.' };
  const style = styleOf(ts, file);
  const added = [
    ...(missing.schedule ? [SCHEDULE] : []),
    ...(missing.snowflake ? [SNOWFLAKE] : []),
  ];
  const imports = importEdits(ts, file, style, added);
  if (imports === undefined)
    return {
      reason: 'the name ScheduleModule or SnowflakeModule is already used for something else.',
    };
  const lines = added.map(({ call }) => call(style));
  const listed = listEdits(ts, file, style, { module, lines });
  if (listed === undefined) return { reason: '`imports` of @Module is not a plain array.' };
  return edited(text, [...imports, ...listed]);
}

const SCHEDULE = {
  name: 'ScheduleModule',
  from: '@nestjs/schedule',
  call: () => 'ScheduleModule.forRoot()',
};
const SNOWFLAKE = {
  name: 'SnowflakeModule',
  from: 'nestjs-snowflake',
  call: (/** @type {Style} */ { eol, unit }) =>
    [
      'SnowflakeModule.forRootAsync({',
      `${unit}useFactory: () => ({ support: process.env.SNOWFLAKE_SUPPORT }),`,
      '})',
    ].join(eol),
};

/** @returns {import('typescript').ObjectLiteralExpression[]} of every `@Module({ ... })` */
function moduleArguments(/** @type {TypeScript} */ ts, /** @type {SourceFile} */ file) {
  const decorators = file.statements
    .filter((statement) => ts.isClassDeclaration(statement))
    .flatMap((statement) => ts.getDecorators(statement) ?? []);
  return decorators.flatMap(({ expression }) => {
    if (!ts.isCallExpression(expression) || expression.expression.getText(file) !== 'Module')
      return [];
    const [given] = expression.arguments;
    return given !== undefined && ts.isObjectLiteralExpression(given) ? [given] : [];
  });
}

/** @returns {Edit[] | undefined} undefined where a name means something else */
function importEdits(
  /** @type {TypeScript} */ ts,
  /** @type {SourceFile} */ file,
  /** @type {Style} */ style,
  /** @type {readonly { name: string, from: string }[]} */ added,
) {
  const known = importedNames(ts, file);
  const declared = file.statements.map((one) => (ts.isClassDeclaration(one) ? one.name?.text : ''));
  const isTaken = (/** @type {{ name: string, from: string }} */ { name, from }) =>
    declared.includes(name) || (known.has(name) && known.get(name) !== from);
  if (added.some(isTaken)) return undefined;
  const { eol, quote, end } = style;
  const lines = added
    .filter(({ name }) => !known.has(name))
    .map(({ name, from }) => `import { ${name} } from ${quote}${from}${quote}${end}`);
  // Below the imports of packages, above those of files.
  const all = file.statements.filter((one) => ts.isImportDeclaration(one));
  const last = all.findLast(({ moduleSpecifier }) => !/^.\./.test(moduleSpecifier.getText(file)));
  if (lines.length === 0) return [];
  if (last === undefined) {
    const at = all[0]?.getStart(file) ?? 0;
    return [{ at, text: lines.map((line) => line + eol).join('') }];
  }
  return [{ at: lineEnd(file.text, last.end), text: lines.map((line) => eol + line).join('') }];
}

/** @returns {Map<string, string>} local names and the module that each is imported from */
function importedNames(/** @type {TypeScript} */ ts, /** @type {SourceFile} */ file) {
  const names = new Map();
  for (const one of file.statements) {
    if (!ts.isImportDeclaration(one)) continue;
    const from = /** @type {import('typescript').StringLiteral} */ (one.moduleSpecifier).text;
    const { name, namedBindings } = one.importClause ?? {};
    if (name) names.set(name.text, from);
    if (!namedBindings) continue;
    if (ts.isNamespaceImport(namedBindings)) names.set(namedBindings.name.text, from);
    else for (const element of namedBindings.elements) names.set(element.name.text, from);
  }
  return names;
}

/** @returns {Edit[] | undefined} undefined where `imports` is no list that stands there */
function listEdits(
  /** @type {TypeScript} */ ts,
  /** @type {SourceFile} */ file,
  /** @type {Style} */ style,
  /** @type {{ module: import('typescript').ObjectLiteralExpression, lines: string[] }} */ given,
) {
  const { module, lines } = given;
  const { properties } = module;
  if (properties.some((one) => ts.isSpreadAssignment(one))) return undefined;
  const property = properties.find((one) => one.name?.getText(file) === 'imports');
  if (property === undefined) return [newList(file, style, module, lines)];
  if (!ts.isPropertyAssignment(property)) return undefined;
  const list = property.initializer;
  if (!ts.isArrayLiteralExpression(list)) return undefined;
  // What is spread there may hold ScheduleModule.forRoot() already.
  if (list.elements.some((one) => ts.isSpreadElement(one))) return undefined;
  const inner = file.text.slice(list.getStart(file) + 1, list.end - 1);
  const isOneLine = !inner.includes('\n');
  if (isOneLine && /\/[*/]/.test(inner)) return undefined;
  if (list.elements.length > 0 && !isOneLine) return appended(file, style, list, lines);
  const indent = indentAt(file.text, property.getStart(file));
  const kept = list.elements.map((one) => one.getText(file));
  const comments = list.elements.length === 0 ? inner.trimEnd() : '';
  const text = `[${comments}${style.eol}${listed(style, indent, [...kept, ...lines])}${indent}]`;
  return [{ at: list.getStart(file), to: list.end, text }];
}

/** Elements, each on lines of its own and with a comma. */
function listed(
  /** @type {Style} */ { eol, unit },
  /** @type {string} */ indent,
  /** @type {readonly string[]} */ elements,
) {
  return elements.map((one) => `${deeper(one, eol, indent + unit)},${eol}`).join('');
}

const deeper = (
  /** @type {string} */ text,
  /** @type {string} */ eol,
  /** @type {string} */ indent,
) => indent + text.replaceAll(eol, eol + indent);

/** @returns {Edit} the property `imports`, as the first of the module */
function newList(
  /** @type {SourceFile} */ file,
  /** @type {Style} */ style,
  /** @type {import('typescript').ObjectLiteralExpression} */ module,
  /** @type {readonly string[]} */ lines,
) {
  const { eol, unit } = style;
  const start = module.getStart(file);
  const indent = indentAt(file.text, start) + unit;
  const text = `${eol}${indent}imports: [${eol}${listed(style, indent, lines)}${indent}],`;
  const [first] = module.properties;
  const isSameLine = first !== undefined && !first.getFullText(file).includes('\n');
  const after = first === undefined || isSameLine ? eol + (isSameLine ? indent : '') : '';
  // Of `{ controllers: [] }` and `{}` also what follows the brace is replaced.
  const to = first === undefined ? module.end - 1 : start + 1;
  const close = first === undefined ? indent.slice(unit.length) : '';
  return { at: start + 1, to: isSameLine ? first.getStart(file) : to, text: text + after + close };
}

/** @returns {Edit[]} after the last element, and after what is said of it on its line */
function appended(
  /** @type {SourceFile} */ file,
  /** @type {Style} */ { eol },
  /** @type {import('typescript').ArrayLiteralExpression} */ list,
  /** @type {readonly string[]} */ lines,
) {
  const last = list.elements[list.elements.length - 1] ?? list;
  const indent = indentAt(file.text, last.getStart(file));
  const { hasTrailingComma } = list.elements;
  const text = lines.map((line) => eol + deeper(line, eol, indent)).join(',');
  const comma = hasTrailingComma ? [] : [{ at: last.end, text: ',' }];
  const at = lineEnd(file.text, hasTrailingComma ? list.elements.end : last.end);
  return [...comma, { at, text: text + (hasTrailingComma ? ',' : '') }];
}

/**
 * How a main.ts starts its application: `const app = await NestFactory.create(AppModule)`.
 * @returns {{ moduleFile?: string, app?: string, statement?: Node } | undefined}
 */
function startOf(/** @type {TypeScript} */ ts, /** @type {string} */ text) {
  const file = parsed(ts, text);
  const calls = nodesOf(ts, file).filter(
    (one) => ts.isCallExpression(one) && /^NestFactory\s*\.\s*create/.test(one.getText(file)),
  );
  const [call, other] = /** @type {import('typescript').CallExpression[]} */ (calls);
  if (call === undefined || other !== undefined) return undefined;
  const from = importedNames(ts, file).get(call.arguments[0]?.getText(file) ?? '');
  const moduleFile = from?.startsWith('.') ? `${from.replace(/\.[jt]s$/, '')}.ts` : undefined;
  const awaited = call.parent;
  const declared = awaited.parent;
  const isNamed =
    ts.isAwaitExpression(awaited) &&
    ts.isVariableDeclaration(declared) &&
    ts.isIdentifier(declared.name);
  if (!isNamed) return { moduleFile };
  return { moduleFile, app: declared.name.getText(file), statement: declared.parent.parent };
}

/** @returns {string | undefined} undefined where it is not understood */
function withShutdownHooks(/** @type {TypeScript} */ ts, /** @type {string} */ text) {
  const { app, statement } = startOf(ts, text) ?? {};
  if (app === undefined || statement === undefined) return undefined;
  const file = statement.getSourceFile();
  const { eol, end } = styleOf(ts, file);
  const indent = indentAt(text, statement.getStart(file));
  const line = `${eol}${indent}${app}.enableShutdownHooks()${end}`;
  return edited(text, [{ at: lineEnd(text, statement.end), text: line }]);
}

/** Whether a source calls such a method of this class. */
function calledWith(
  /** @type {TypeScript} */ ts,
  /** @type {string} */ text,
  /** @type {string} */ name,
  /** @type {RegExp} */ method,
) {
  const file = parsed(ts, text);
  return nodesOf(ts, file).some((one) => {
    if (!ts.isCallExpression(one) || !ts.isPropertyAccessExpression(one.expression)) return false;
    const { expression, name: called } = one.expression;
    return expression.getText(file) === name && method.test(called.text);
  });
}

/** @returns {Style} as the file has it, or as `nest new` writes it */
function styleOf(/** @type {TypeScript} */ ts, /** @type {SourceFile} */ file) {
  const { text } = file;
  const first = file.statements.find((one) => ts.isImportDeclaration(one));
  const said = first?.getText(file) ?? `import 'a';`;
  return {
    eol: text.includes('\r\n') ? '\r\n' : '\n',
    unit: /^([ \t]+)[^\s*]/m.exec(text)?.[1] ?? '  ',
    quote: said.includes('"') ? '"' : "'",
    end: said.endsWith(';') ? ';' : '',
  };
}

/** @returns {SourceFile} */
const parsed = (/** @type {TypeScript} */ ts, /** @type {string} */ text) =>
  ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);

/** @returns {Node[]} */
function nodesOf(/** @type {TypeScript} */ ts, /** @type {Node} */ node) {
  /** @type {Node[]} */
  const found = [];
  const visit = (/** @type {Node} */ one) => {
    found.push(one);
    ts.forEachChild(one, visit);
  };
  visit(node);
  return found;
}

/** The spaces that a line starts with. */
function indentAt(/** @type {string} */ text, /** @type {number} */ at) {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', at - 1) + 1))?.[0] ?? '';
}

/** The end of the line where only a comment follows there; else the place itself. */
function lineEnd(/** @type {string} */ text, /** @type {number} */ at) {
  const rest = /^[^\r\n]*/.exec(text.slice(at))?.[0] ?? '';
  return /^[ \t]*(\/\/.*|\/\*[^*]*\*\/[ \t]*)?$/.test(rest) ? at + rest.length : at;
}

/** From the end, so that the places of the others stay; two at one place keep their order. */
function edited(/** @type {string} */ text, /** @type {readonly Edit[]} */ edits) {
  const ordered = edits.map((edit, n) => ({ ...edit, n }));
  ordered.sort((a, b) => b.at - a.at || b.n - a.n);
  return ordered.reduce(
    (said, { at, to = at, text: added }) => said.slice(0, at) + added + said.slice(to),
    text,
  );
}

module.exports = { calledWith, startOf, withModules, withShutdownHooks };
