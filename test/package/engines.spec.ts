/**
 * Whoever follows the README installs without a warning: every package of the lock runs on the
 * lowest Node that the README names and on the one that .ci/run is made for.
 */
import { describe, expect, it, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { ROOT } from '../tidy/tree.js';

const { satisfies } = createRequire(import.meta.url)('semver') as {
  satisfies: (version: string, range: string) => boolean;
};

interface Locked {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
}

const textOf = (path: string): string => readFileSync(`${ROOT}/${path}`, 'utf8');

function unsupported(node: string, packages: Readonly<Record<string, Locked>>): string[] {
  return Object.entries(packages)
    .filter(([path, { engines }]) => path !== '' && !satisfies(node, engines?.node ?? '*'))
    .map(([path, { version, engines }]) => `${path}@${version} wants Node ${engines?.node}`);
}

describe('the packages of the lock', () => {
  const { packages } = JSON.parse(textOf('package-lock.json')) as {
    packages: Record<string, Locked>;
  };
  const named = /Node (\d+\.\d+) or later/.exec(textOf('README.md'))![1]!;

  test.each([`${named}.0`, '20.20.2', '22.23.3', '24.21.0'])('all run on Node %s', (node) => {
    expect(unsupported(node, packages)).toEqual([]);
  });

  it('are found where they do not', () => {
    const newer = { version: '12.0.6', engines: { node: '^22.22.3 || >=26.0.0' } };
    const found = unsupported('20.20.2', { 'node_modules/a': newer, 'node_modules/b': {} });
    expect(found).toEqual(['node_modules/a@12.0.6 wants Node ^22.22.3 || >=26.0.0']);
  });
});
