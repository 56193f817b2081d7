/** The reading of exported names tells values from types, however a name travels. */
import { describe, expect, it, test } from '@jest/globals';
import { exportedNames, type ExportedNames } from './exported-names.js';

const namesOf = (index: string): ExportedNames =>
  exportedNames(
    [
      { path: 'lib/index.ts', text: index },
      {
        path: 'lib/core/index.ts',
        text: `export type { Seat as Chair, Range } from '../seat.js';`,
      },
      {
        path: 'lib/seat.ts',
        text: `export class Seat {}\nexport interface Range { a: 1 }\nexport const seats = 2;`,
      },
    ],
    { '.': 'lib/index.ts' },
  )['.']!;

describe('exported names', () => {
  test.each([
    [`export { Seat, seats } from './seat.js';`, { Seat: 'value', seats: 'value' }],
    [`export { seats as places } from './seat.js';`, { places: 'value' }],
    [`export * from './seat.js';`, { Range: 'type', Seat: 'value', seats: 'value' }],
    [`export { type Seat } from './seat.js';`, { Seat: 'type' }],
    [`export { Chair } from './core/index.js';`, { Chair: 'type' }],
    [
      `export enum A {}\nexport function b() {}\nexport type C = 1;`,
      { A: 'value', C: 'type', b: 'value' },
    ],
    [`import { BitLayout } from 'elsewhere';\nexport const a = new BitLayout();`, { a: 'value' }],
    [`const hidden = 1;`, {}],
  ])('%s', (index, names) => {
    expect(namesOf(index)).toEqual(names);
  });

  it('are sorted', () => {
    const names = namesOf(`export const b = 1;\nexport type C = 1;\nexport const a = 1;`);
    expect(Object.keys(names)).toEqual(['C', 'a', 'b']);
  });

  it('of an entry without a file are none', () => {
    expect(exportedNames([], { './sql': 'lib/sql/index.ts' })).toEqual({
      './sql': {},
    });
  });
});
