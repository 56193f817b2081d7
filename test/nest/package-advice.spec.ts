/**
 * Packages that run together and do not fit are named in one line at the start, wherever they lie.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { packageAdvice } from '../../lib/nest/engine.js';
import { quickFolder } from '../support/quick-folder.mjs';

const root = quickFolder('packages');
afterAll(() => rmSync(root, { recursive: true }));

/** An application in a folder of its own, with these versions in these folders of it. */
function entryPoint(name: string, installed: Readonly<Record<string, string>>): string {
  for (const [path, version] of Object.entries(installed)) {
    const file = join(root, name, path, 'package.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, version === '' ? 'not JSON' : JSON.stringify({ version }));
  }
  return join(root, name, 'apps/shop/dist/main.js');
}

const CORE = 'node_modules/@nestjs/core';
const SCHEDULE = 'node_modules/@nestjs/schedule';

describe('the packages of an application', () => {
  it('are told apart: a scheduler of 12 in Nest 11', () => {
    const [text, ...more] = packageAdvice(
      entryPoint('mixed', { [CORE]: '11.1.6', [SCHEDULE]: '12.0.2' }),
    );
    expect(text).toMatch(/schedule 12\.0\.2 .* Nest 11\.1\.6.*npm install @nestjs\/schedule@6/);
    expect(more).toEqual([]);
  });

  it('are those that lie nearest', () => {
    const installed = {
      [CORE]: '11.1.6',
      [SCHEDULE]: '12.0.2',
      [`apps/shop/${SCHEDULE}`]: '6.1.0',
    };
    expect(packageAdvice(entryPoint('nested', installed))).toEqual([]);
  });

  it.each([
    ['fit in 11', { [CORE]: '11.1.6', [SCHEDULE]: '6.1.0' }],
    ['fit in 12', { [CORE]: '12.5.1', [SCHEDULE]: '12.0.2' }],
    ['are without a scheduler', { [CORE]: '11.1.6' }],
    ['cannot be read', { [CORE]: '', [SCHEDULE]: '12.0.2' }],
    ['are nowhere', {}],
  ])('are no matter where they %s', (name, installed) => {
    expect(packageAdvice(entryPoint(name, installed))).toEqual([]);
  });

  it('are not known without an entry point', () => {
    expect(packageAdvice('')).toEqual([]);
  });
});
