// Compiles TypeScript for Jest with swc, and caches the built-in names.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import swc from '@swc/jest';

const OWN_TEXT = readFileSync(new URL(import.meta.url), 'utf8');

/** @returns {import('@jest/transform').AsyncTransformer} */
function createTransformer() {
  const { process, processAsync, getCacheKey, ...rest } = swc.createTransformer();
  const finished = ({ code, ...others }) => ({ ...others, code: withBuiltIns(code) });
  return {
    ...rest,
    process: (...given) => finished(process(...given)),
    processAsync: async (...given) => finished(await processAsync(...given)),
    getCacheKey: (...given) =>
      createHash('sha1')
        .update(OWN_TEXT)
        .update(getCacheKey(...given))
        .digest('hex'),
  };
}

/*
 * The built-in names that a module uses, read once at its head.
 *
 * Jest runs each spec file in its own context, where reading a global costs fifty times as much as
 * elsewhere. Loops over IDs consist of little else. Names that tests replace (clocks, timers,
 * fetch, process) stay unchanged.
 */

/** Tests never replace these names. */
export const BUILT_IN = (
  'Array ArrayBuffer Atomics BigInt BigUint64Array Boolean DataView Error Infinity Int32Array ' +
  'JSON Map Math NaN Number Object Promise RangeError RegExp Set SharedArrayBuffer String Symbol ' +
  'TypeError Uint8Array WeakMap WeakSet'
).split(' ');
const USED = new RegExp(String.raw`(?<![.\w$])(?:${BUILT_IN.join('|')})(?![\w$])`, 'g');
const DECLARED = new RegExp(
  String.raw`\b(?:as|class|const|function|import|let|var)\s+(${BUILT_IN.join('|')})(?![\w$])`,
  'g',
);
const IMPORTED = /^import\s*\{([^}]*)\}/gm;

/** On the first line, so that all lines keep their numbers. */
export function withBuiltIns(/** @type {string} */ code) {
  const names = new Set(code.match(USED));
  for (const [, name = ''] of code.matchAll(DECLARED)) names.delete(name);
  for (const [, list = ''] of code.matchAll(IMPORTED))
    for (const [name] of list.matchAll(USED)) names.delete(name);
  return names.size === 0 ? code : `const {${[...names].join()}}=globalThis;${code}`;
}

export default { createTransformer };
