// Jest for `npm run mutate`: the specs of a room that need no server, and simulated fleets, in
// Stryker's copy of the sources.
import base, { projects } from '../../jest.config.js';
import { ROOT } from '../support/made-once.mjs';

/** By room, the folders of test/ whose specs are asked. */
export const ROOMS = {
  core: ['core', 'lease'],
  lease: ['lease', 'registry', 'transcripts'],
  registry: ['registry', 'lease', 'transcripts'],
  counters: ['counters', 'segments', 'ids'],
  lock: ['lock'],
};

const room = /** @type {keyof typeof ROOMS} */ (process.env.MUTATED_ROOM ?? 'core');
const folders = ROOMS[room].map((folder) => `<rootDir>/test/${folder}/`);
const specsOf = (/** @type {string} */ kind) =>
  projects
    .filter(({ displayName }) => displayName === kind)
    .flatMap(({ testMatch }) => testMatch)
    .filter((path) => folders.some((folder) => path.startsWith(folder)));
// Locks and counters have none that are quick: theirs are among the other ones without a server.
const quick = specsOf('quick');
const specs = quick.length > 0 ? quick : specsOf('thorough');

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
  testTimeout: base.testTimeout,
  testEnvironment: testEnvironment.replace('<rootDir>', ROOT),
  // Whoever makes edits of the sources by their text finds it in the sources as they are.
  moduleNameMapper: {
    '(.*)/mutants/load-library\\.mjs$': `${process.env.MUTATED_ROOT}/test/mutants/load-library.mjs`,
    ...moduleNameMapper,
  },
  testMatch: [...specs, '<rootDir>/test/mutation/fleets.ts'],
};
