// `npm run test:quick`: the inner loop.
import { availableParallelism } from 'node:os';
import base, { projects } from './jest.config.js';

// Jest's workers inherit it: properties are tried less often (test/until.ts).
process.env.TEST_QUICK = 'yes';

/** @type {import('jest').Config} */
export default {
  ...base,
  // Here nothing waits for a server: more workers would only load the same modules once more each.
  maxWorkers: availableParallelism(),
  projects: projects.filter(({ displayName }) => displayName === 'quick'),
};
