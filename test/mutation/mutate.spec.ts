/**
 * `npm run mutate` draws the same functions by the same seed, reports invalid options, and lists
 * each undetected change. The changes themselves come from Stryker and take minutes.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { drawnParts, partsOf, reportOf } from '../../scripts/mutate.mjs';
import { ROOT } from '../support/made-once.mjs';

const FILE = 'lib/counters/counter-rules.ts';

function mutate(...options: string[]) {
  const args = ['scripts/mutate.mjs', ...options];
  return spawnSync('node', args, { cwd: ROOT, encoding: 'utf8' });
}

describe('npm run mutate', () => {
  it('fails if it tried nothing', () => {
    expect(mutate('--function', 'no such function').status).toBe(1);
    expect(mutate('--room', 'cellar')).toMatchObject({ status: 2, stdout: '' });
  });

  it('draws the same functions by the same seed, and different ones by another seed', () => {
    const drawn = (seed: string, count = 20) => drawnParts('registry', { seed, count });
    expect(drawn('1')).toEqual(drawn('1'));
    expect(drawn('1', 5)).toEqual(drawn('1').slice(0, 5));
    expect(drawn('2')).not.toEqual(drawn('1'));
  });

  it('lists each undetected change, and counts the detected ones', () => {
    const lines = readFileSync(join(ROOT, FILE), 'utf8').split('\n');
    const at = lines.findIndex((line) => line.includes('b < a ?'));
    const column = lines[at]!.indexOf('b < a') + 1;
    const end = { line: at + 1, column: column + 5 };
    const one = { fileName: join(ROOT, FILE), location: { start: { ...end, column }, end } };
    const mutant = { ...one, mutatorName: 'EqualityOperator', replacement: 'b <= a' };
    const report = reportOf([
      { ...mutant, status: 'Killed' },
      { ...mutant, status: 'Killed', statusReason: 'Exceeded timeout of 30000 ms for a test.' },
      { ...mutant, status: 'Timeout' },
      { ...mutant, status: 'Ignored' },
      { ...mutant, status: 'Survived' },
    ]);
    expect(report).toBe(
      `Survived: ${FILE}:${at + 1}:${column} EqualityOperator\n      b < a\n   -> b <= a\n` +
        '4 mutants: 1 noticed, 2 by the time they took, 1 not noticed: 75.0 %',
    );
    expect(reportOf([{ ...mutant, status: 'NoCoverage' }])).toContain('1 not noticed: 0.0 %');
  });

  it('finds each function of a file by its name, with its begin and end', () => {
    const lines = readFileSync(join(ROOT, FILE), 'utf8').split('\n');
    const parts = partsOf(FILE);
    const { first } = parts.find(({ name }) => name === 'least')!;
    expect(lines[Number(first.split(':')[0]) - 1]).toMatch(/^function least\(/);
    expect(parts.map(({ name }) => name)).toEqual(expect.arrayContaining(['take', 'ABOUT']));
    expect(parts.filter(({ name }) => name === '')).toEqual([]);
  });
});
