import { ENTRY_FILES } from './scripts/entries.mjs';

const entries = Object.fromEntries(
  Object.entries(ENTRY_FILES).map(([name, path]) => [`^${name}$`, `<rootDir>/${path}`]),
);

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  // For what hangs. No test may depend on how fast the machine is, so none has a limit of its own.
  testTimeout: 600_000,
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/test/package/consumers/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/test/package/consumers/'],
  reporters: ['default', '<rootDir>/test/support/time-reporter.mjs'],
  setupFiles: ['reflect-metadata'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    ...entries,
  },
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
};
