/** The compiled files are run as they are: ESM in Jest, as Nest 12 needs it. */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/dist/**/*.spec.js'],
  setupFiles: ['reflect-metadata'],
  transform: {},
};
