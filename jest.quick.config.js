// `npm run test:quick`: the inner loop.
import base, { projects } from './jest.config.js';

// Jest's workers inherit it: properties are tried less often (test/until.ts).
process.env.TEST_QUICK = 'yes';

/** @type {import('jest').Config} */
export default {
  ...base,
  projects: projects.filter(({ displayName }) => displayName === 'quick'),
};
