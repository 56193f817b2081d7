/**
 * Checks that no test depends on how fast the machine is: none waits for a fixed time without
 * saying why, and none has less time than a busy machine may need.
 */
import ts from 'typescript';
import { lineAt, linesOf, type Check, type Finding, type TextFile } from './check.js';
import { codeOf, lineOf, treeOf, walk } from './syntax.js';

/** jest.config.js gives every test the same, larger limit. */
const LIMIT_MS_MIN = 60_000;

const isTestCode = ({ path }: TextFile): boolean =>
  /^test\/.*\.ts$/.test(path) && path !== 'test/until.ts';

/** `sleep(50)`, `setTimeout(f, 50)`: wait for what is meant (test/until.ts), or say why above. */
export const checkWaits: Check = (files) =>
  files.filter(isTestCode).flatMap((file) => {
    const lines = linesOf(file.text);
    const code = codeOf(file);
    return [...code.matchAll(/\b(sleep|setTimeout|waitForTimeout)\(/g)].flatMap((match) => {
      const line = lineAt(code, match.index);
      if (/(^|[^.\w])jest\.$/.test(code.slice(0, match.index))) return [];
      if (/^\s*(\/\/|\*\/|\/\*)/.test(lines[line - 2] ?? '')) return [];
      const message = `waits by \`${match[1]}\`; wait for what is meant, or say why above it`;
      return [{ path: file.path, line, message }];
    });
  });

const TAKES_LIMIT =
  /^((it|test)(\.each\b.*)?|beforeAll|beforeEach|afterAll|afterEach|jest\.setTimeout)$/s;

/** A limit in figures, as the last argument of a test, a hook or jest.setTimeout. */
export const checkLimits: Check = (files) =>
  files.filter(isTestCode).flatMap((file) => {
    const findings: Finding[] = [];
    walk(treeOf(file), (node) => {
      if (!ts.isCallExpression(node) || !TAKES_LIMIT.test(node.expression.getText())) return;
      const last = node.arguments.at(-1);
      if (last === undefined || !ts.isNumericLiteral(last)) return;
      if (Number(last.text.replaceAll('_', '')) >= LIMIT_MS_MIN) return;
      const message = `gives a test ${last.getText()} ms; jest.config.js has one limit for all`;
      findings.push({ path: file.path, line: lineOf(node), message });
    });
    return findings;
  });
