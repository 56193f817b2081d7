/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/', '/test/package/consumers/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/test/package/consumers/'],
  setupFiles: ['reflect-metadata'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '@swc/jest' },
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^nestjs-snowflake$': '<rootDir>/lib/index.ts',
    '^nestjs-snowflake/core$': '<rootDir>/lib/core/index.ts',
    '^nestjs-snowflake/redis$': '<rootDir>/lib/backends/redis/index.ts',
    '^nestjs-snowflake/testing$': '<rootDir>/lib/testing/index.ts',
    '^nestjs-snowflake/typeorm$': '<rootDir>/lib/orm/typeorm/index.ts',
  },
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
};
