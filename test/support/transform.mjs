// TypeScript for Jest, by swc, with the built-in names at hand.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import swc from '@swc/jest';
import { withBuiltIns } from './built-ins.mjs';

const OWN_TEXT = readFileSync(new URL('built-ins.mjs', import.meta.url), 'utf8');

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

export default { createTransformer };
