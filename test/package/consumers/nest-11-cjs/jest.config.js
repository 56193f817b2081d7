/** As `nest new` of Nest 11 sets it up: CommonJS through ts-jest. */
module.exports = {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/src/**/*.spec.ts'],
  setupFiles: ['reflect-metadata'],
  // Types were checked when it was built.
  transform: { '^.+\\.ts$': ['ts-jest', { isolatedModules: true }] },
  // The source is shared with the ESM application, which has to name the files it imports.
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
};
