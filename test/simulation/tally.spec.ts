/** A simulation that went wrong is told with all that it takes to see it go wrong again. */
import { expect, it } from '@jest/globals';
import { Tally } from './tally.mjs';
import { drawnText, type SimulationReport } from './world/index.js';

const WRONG = {
  scenario: 'losses',
  seed: 7,
  drawn: { hosts: 3, lost: '5 %' },
  faults: {},
  violationCount: 1,
  violations: [{ kind: 'twice', text: 'id 1' }],
} as unknown as SimulationReport;

it.each([
  [{}, 'npm run simulate -- --seeds 7 --scenario losses --trace'],
  [{ rows: true }, 'npm run simulate -- --seeds 7 --scenario losses --rows --trace'],
])('seed, what it drew, and the command: %j', (how, command) => {
  const tally = new Tally(drawnText, how);
  tally.add(WRONG);
  const lines = tally.text().split('\n');
  expect(lines).toEqual(expect.arrayContaining(['  drawn: hosts 3; lost 5 %', `  ${command}`]));
});
