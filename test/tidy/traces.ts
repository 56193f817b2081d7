/**
 * Checks that nothing in the tree tells where it was made: no download addresses in a lock file,
 * no registry, no path of a machine. Also that generated files are what their generator makes.
 */
import { lineAt, linesOf } from './check.js';
import type { Check, Finding, TextFile } from './check.js';

interface Trace {
  readonly pattern: RegExp;
  readonly message: (found: string) => string;
}

const TRACES: readonly Trace[] = [
  {
    pattern: /"resolved":\s*"https?:[^"]*"/g,
    message: () => 'holds a download address; install with omit-lockfile-registry-resolved',
  },
  {
    pattern: /\/\/[\w-]*registry[\w-]*\.[\w.-]+|\bregistry\s*=\s*https?:\S+/g,
    message: (found) => `names a registry (${found})`,
  },
  {
    pattern: /(?<![\w.~/-])(\/home|\/Users)\/[\w.-]+|\b[A-Z]:\\Users\\\w+/g,
    message: (found) => `names a folder of one machine (${found})`,
  },
];

/** `here` is where the tree lies on this machine; no file may say so. */
export const checkTraces =
  (here: string): Check =>
  (files) =>
    files.flatMap((file) => {
      const traces = isDistinct(here) ? [...TRACES, pathTrace(here)] : TRACES;
      return traces.flatMap((trace) => tracesIn(file, trace));
    });

function tracesIn({ path, text }: TextFile, { pattern, message }: Trace): Finding[] {
  const matches = [...text.matchAll(pattern)];
  const [first] = matches;
  if (!first) return [];
  const times = matches.length > 1 ? `, and ${matches.length - 1} times more` : '';
  return [{ path, line: lineAt(text, first.index), message: message(first[0].trim()) + times }];
}

/** A clone in `/app` proves nothing: other files may mean another `/app`. */
const isDistinct = (here: string): boolean => here.split('/').length > 2;

const pathTrace = (here: string): Trace => ({
  pattern: new RegExp(`(?<![\\w./-])${here.replace(/[^\w/-]/g, '\\$&')}(?![\\w-])`, 'g'),
  message: (found) => `names a folder of this machine (${found})`,
});

/** A generated file equals what its generator would write now. */
export const checkFresh =
  (path: string, expected: string, command: string): Check =>
  (files) => {
    const file = files.find((candidate) => candidate.path === path);
    if (!file) return [{ path, message: `is missing; run \`${command}\`` }];
    if (file.text === expected) return [];
    const [is, should] = [linesOf(file.text), linesOf(expected)];
    const line = should.findIndex((text, index) => text !== is[index]) + 1;
    return [{ path, line: line || should.length, message: `is stale; run \`${command}\`` }];
  };
