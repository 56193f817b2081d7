import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { ENTRY_FILES } from './scripts/entries.mjs';
import { SLOW, specsByKind } from './test/support/kinds.mjs';

const root = fileURLToPath(new URL('.', import.meta.url));

const entries = Object.fromEntries(
  Object.entries(ENTRY_FILES).map(([name, path]) => [`^${name}$`, `<rootDir>/${path}`]),
);

/** @type {import('jest').Config} */
const shared = {
  testEnvironment: '<rootDir>/test/support/environment.mjs',
  roots: ['<rootDir>/lib', '<rootDir>/scripts', '<rootDir>/test'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/test/package/consumers/'],
  setupFiles: ['reflect-metadata'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/support/transform.mjs' },
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Loaded once for a worker, and several times as fast.
    '^(typescript|playwright-core)$': '<rootDir>/test/support/outside/$1.cjs',
    ...entries,
  },
};

/** A kind of tests, by `npm test -- --selectProjects <kind>`; one without servers has no setup. */
export const projects = Object.entries(specsByKind(root)).map(([kind, specs]) => {
  const setup = `test/support/setup-${kind}.mjs`;
  return {
    ...shared,
    displayName: kind,
    testMatch: specs.map((path) => `<rootDir>/${path}`),
    ...(existsSync(`${root}/${setup}`) && {
      globalSetup: `<rootDir>/${setup}`,
      globalTeardown: '<rootDir>/test/support/servers.mjs',
    }),
  };
});

/** With nothing named, neither paths nor tests nor kinds, the slow ones are left out. */
export function projectsFor(/** @type {readonly string[]} */ args) {
  // A number is how many workers there shall be.
  const isNamed = args.some((arg) => !/^(-|\d+%?$)/.test(arg));
  return isNamed ? projects : projects.filter(({ displayName }) => !SLOW.includes(displayName));
}

/** @type {import('jest').Config} */
export default {
  // For what hangs. No test may depend on how fast the machine is, so none has a limit of its own.
  testTimeout: 1_200_000,
  // More than there are cores: most files wait for a server or a process most of their time.
  // Cases of a contract that wait by the clock of a store do so side by side.
  maxConcurrency: 30,
  maxWorkers: availableParallelism() * 4,
  // A worker keeps what its files loaded, and would collect garbage for a third of its time.
  workerIdleMemoryLimit: '500MB',
  testSequencer: '<rootDir>/test/support/kinds.mjs',
  reporters: ['default', '<rootDir>/test/support/time-reporter.mjs'],
  projects: projectsFor(process.argv.slice(2)),
};
