/** The page of the architecture shows the rooms and arrows that are checked, and no others. */
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { mayImport, rowsOf, tableFaults, treeFaults } from './rooms-page.js';
import { ROOMS } from './rooms.js';
import { ROOT, readTree } from './tree.js';

const PAGE = readFileSync(`${ROOT}/docs/internals/architecture.md`, 'utf8');

it('its table says of every room what rooms.ts says', () => {
  expect(tableFaults(PAGE)).toEqual([]);
});

it('its tree names all that lies in lib', () => {
  expect(
    treeFaults(
      PAGE,
      readTree().map(({ path }) => path),
    ),
  ).toEqual([]);
});

it('an arrow too many, a room too few and a file that is not drawn are found', () => {
  const lease = mayImport(ROOMS.find(({ room }) => room === 'lease')!);
  expect(rowsOf(PAGE).get('lease')).toBe(lease);
  expect(tableFaults(PAGE.replace(lease, `nest, ${lease}`))).toEqual([`lease: ${lease}`]);
  expect(tableFaults(PAGE.replace(/^\| time .*\n/m, ''))).toEqual(['no time']);
  expect(tableFaults(PAGE.replace('| time ', '| patients '))).toContain('patients: is no room');
  expect(treeFaults(PAGE, ['lib/errors.ts', 'lib/attic/a.ts'])).toEqual(['attic']);
});
