// `npm run test:quick`: the inner loop. No server is started, and what needs one is left out.
import { fileURLToPath } from 'node:url';
import base from './jest.config.js';
import { leftOut } from './test/support/quick.mjs';

const { globalSetup: _setup, globalTeardown: _teardown, ...rest } = base;
// Jest's workers inherit it: properties are tried less often (test/runs.ts).
process.env.TEST_QUICK = 'yes';

const root = fileURLToPath(new URL('.', import.meta.url));

/** @type {import('jest').Config} */
export default {
  ...rest,
  // Jest leaves a core to others; here somebody waits.
  maxWorkers: '100%',
  testPathIgnorePatterns: [
    ...base.testPathIgnorePatterns,
    ...leftOut(root).map((path) => `/${path.replaceAll('.', '\\.')}$`),
  ],
};
