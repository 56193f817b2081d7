// `npm run test:slow`: what `npm test` leaves out.
import { availableParallelism } from 'node:os';
import base, { projects } from './jest.config.js';
import { SLOW } from './test/support/kinds.mjs';

export const slowProjects = projects.filter(({ displayName }) => SLOW.includes(displayName));

/** @type {import('jest').Config} */
export default {
  ...base,
  // Most of it computes all the time: the compiler, bundlers, a browser, simulated fleets.
  maxWorkers: availableParallelism() * 2,
  projects: slowProjects,
};
