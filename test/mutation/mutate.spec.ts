/**
 * `npm run mutate` on one function of two lines: what changes its answer is noticed, and the one
 * change that is none, a boundary at which both branches are equal, lives and is told.
 */
import { spawnSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { drawnParts } from '../../scripts/mutate.mjs';
import { ROOT } from '../support/made-once.mjs';

function mutate(...options: string[]) {
  const args = ['scripts/mutate.mjs', ...options];
  const { status, stdout, stderr } = spawnSync('node', args, { cwd: ROOT, encoding: 'utf8' });
  return { status, stdout, told: `${stdout}${stderr}` };
}

describe('npm run mutate', () => {
  it('tells which change of a function is noticed, and which is not', () => {
    const { status, stdout, told } = mutate('--function', 'counter-rules.ts greatest');
    expect([status, told]).toEqual([0, expect.any(String)]);
    expect(stdout).toMatch(
      /^counters: Survived: lib\/counters\/counter-rules\.ts:\d+:10 EqualityOperator\n +a > b\n +-> a >= b\n/m,
    );
    expect(stdout).toMatch(
      /^5 mutants: 4 noticed, 0 by the time they took, 1 not noticed: 80\.0 %/m,
    );
  });

  it('fails where it has tried nothing', () => {
    expect(mutate('--function', 'no such function').status).toBe(1);
    expect(mutate('--room', 'cellar')).toMatchObject({ status: 2, stdout: '' });
  });

  it('draws the same functions by the same seed, and others by another', () => {
    const drawn = (seed: string, count = 20) => drawnParts('registry', { seed, count });
    expect(drawn('1')).toEqual(drawn('1'));
    expect(drawn('1', 5)).toEqual(drawn('1').slice(0, 5));
    expect(drawn('2')).not.toEqual(drawn('1'));
  });
});
