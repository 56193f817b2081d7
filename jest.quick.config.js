// `npm run test:quick`: the inner loop.
import base, { projects } from './jest.config.js';

// Jest's workers inherit it: properties are tried less often (test/runs.ts).
process.env.TEST_QUICK = 'yes';

/** @type {import('jest').Config} */
export default {
  ...base,
  // Jest leaves a core to others; here somebody waits.
  maxWorkers: '100%',
  projects: projects.filter(({ displayName }) => displayName === 'quick'),
};
