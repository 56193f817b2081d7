// Jest for `npm run mutate`: the specs of a room that need no server, and simulated fleets, in
// Stryker's copy of the sources.
import { projects } from '../../jest.config.js';
import { ROOT } from '../support/made-once.mjs';

/** The folders of test/ whose specs run for each room. */
export const ROOMS = {
  core: ['core', 'lease'],
  lease: ['lease', 'registry', 'transcripts'],
  registry: ['registry', 'lease', 'transcripts'],
  counters: ['counters', 'segments', 'ids', 'contract'],
  cron: ['lock'],
  lock: ['lock', 'contract'],
};

/** The specs that need no server. */
const KINDS = ['quick', 'thorough'];

const room = /** @type {keyof typeof ROOMS} */ (process.env.MUTATED_ROOM ?? 'core');
const folders = ROOMS[room].map((folder) => `<rootDir>/test/${folder}/`);
const specs = projects
  .filter(({ displayName }) => KINDS.includes(displayName))
  .flatMap(({ testMatch }) => testMatch)
  .filter((path) => folders.some((folder) => path.startsWith(folder)));

const { testEnvironment, moduleNameMapper, ...shared } = projects[0];
delete shared.displayName;
delete shared.globalSetup;
delete shared.globalTeardown;

/** @type {import('jest').Config} */
export default {
  ...shared,
  rootDir: ROOT,
  roots: [...folders, '<rootDir>/test/mutation/'],
  testSequencer: '<rootDir>/test/mutation/order.mjs',
  // A test may wait for something that the change prevents. Each takes a second or two.
  testTimeout: 30_000,
  testEnvironment: testEnvironment.replace('<rootDir>', ROOT),
  // Tests that edit the sources by text need the original sources.
  moduleNameMapper: {
    '(.*)/mutants/load-library\\.mjs$': `${process.env.MUTATED_ROOT}/test/mutants/load-library.mjs`,
    ...moduleNameMapper,
  },
  testMatch: [...specs, '<rootDir>/test/mutation/fleets.ts'],
};
