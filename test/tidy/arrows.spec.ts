/** The checks of arrows find planted violations and let clean files pass. */
import { describe, expect, it, test } from '@jest/globals';
import { checkArrows, checkFrontDoor, checkSampleApp } from './arrows.js';
import { findingsOf } from './check.js';

const arrowsIn = (path: string, ...lines: string[]): string[] =>
  findingsOf(checkArrows, [{ path, text: lines.join('\n') }]);

describe('arrows between rooms', () => {
  test.each([
    ['lib/core/text/x.ts', `import { a } from '../../errors.js';`],
    ['lib/core/generator/x.ts', `import { a } from '../window/y.js';`],
    ['lib/core/text/x.ts', `import { a } from './y.js';`],
    ['lib/lease/x.ts', `import type { A } from '../core/clock.js';`],
    ['lib/time/process-identity.ts', `import { hostname } from 'node:os';`],
    ['lib/stores/redis/x.ts', `import { A } from '../../lease/distributed-support.js';`],
    ['lib/stores/redis/redis-client.ts', `const load = () => import('ioredis');`],
    ['lib/nest/x.ts', `import { a } from '../stores/schemes.js';`],
    ['lib/stores/schemes.ts', `const load = () => import('./redis/index.js');`],
    ['lib/orm/typeorm/x.ts', `import { A } from '../../nest/id-maker.js';`],
    ['lib/health/x.ts', `import type { A } from '../lease/lease-keeper.js';`],
    ['lib/index.ts', `export { A } from './orm/typeorm/index.js';`],
    ['test/core/x.spec.ts', `import { a } from '../../lib/time/process-identity.js';`],
  ])('%s may hold %s', (path, text) => {
    expect(arrowsIn(path, text)).toEqual([]);
  });

  test.each([
    ['import', `import { a } from '../../lease/holder.js';`],
    ['import type', `import type { A } from '../../lease/holder.js';`],
    ['a bare import', `import '../../lease/holder.js';`],
    ['export from', `export { a } from '../../lease/holder.js';`],
    ['export type from', `export type { A } from '../../lease/holder.js';`],
    ['export all', `export * from '../../lease/holder.js';`],
    ['a dynamic import', `const load = () => import('../../lease/holder.js');`],
    ['an import type expression', `type A = import('../../lease/holder.js').Holder;`],
    ['require', `const a = require('../../lease/holder.js');`],
  ])('%s is an arrow', (_name, text) => {
    expect(arrowsIn('lib/core/clock/x.ts', '', text)).toEqual([
      'lib/core/clock/x.ts:2 imports lib/lease/holder.ts; core/clock may import nothing',
    ]);
  });

  test.each([
    ['lib/errors.ts', '../core/x.js', 'imports core/x.ts, not a room'],
    [
      'lib/lease/x.ts',
      '../nest/y.js',
      'imports lib/nest/y.ts; lease may import time, core, errors, messages, process-wide',
    ],
    ['lib/core/clock.ts', '../index.js', 'imports lib/index.ts, not a room'],
    ['lib/core/clock.ts', '../../test/y.js', 'imports test/y.ts, not a room'],
    [
      'lib/core/window/x.ts',
      '../generator/y.js',
      'imports lib/core/generator/y.ts; core/window may import core/layout, ' +
        'core/clock, core/id-words, errors, messages',
    ],
    [
      'lib/stores/memory/x.ts',
      '../redis/y.js',
      'imports lib/stores/redis/y.ts; ' +
        'stores/memory may import counters, lock, options, registry, rows, lease, core, ' +
        'errors, messages, process-wide',
    ],
    [
      'lib/nest/x.ts',
      '../stores/redis/index.js',
      'imports lib/stores/redis/index.ts; ' +
        'nest may import stores/schemes, generator, core, lease, lock, options, ' +
        'time, errors, messages, process-wide',
    ],
    [
      'lib/stores/schemes.ts',
      './redis/index.js',
      'imports lib/stores/redis/index.ts; ' +
        'stores/schemes may import lease, errors, messages, url-schemes, types of registry, ' +
        'types of counters, types of lock, types of generator, stores by import(), ' +
        'counters by import()',
    ],
    [
      'lib/health/x.ts',
      '../core/y.js',
      'imports lib/core/y.ts; health may import nest, options, types of generator, ' +
        'types of lease, types of core',
    ],
  ])('%s may not import %s', (path, specifier, message) => {
    expect(arrowsIn(path, `import { a } from '${specifier}';`)).toEqual([`${path}:1 ${message}`]);
  });

  test.each([
    ['lib/core/window/x.ts', 'node:fs', 'core/window', 'nothing'],
    ['lib/lease/lease-keeper.ts', 'node:os', 'lease', 'nothing'],
    ['lib/time/process-identity.ts', 'node:fs', 'time', 'node:crypto, node:os, node:v8'],
    ['lib/stores/redis/redis-client.ts', 'ioredis', 'stores/redis', 'nothing'],
    ['lib/nest/x.ts', 'rxjs', 'nest', '@nestjs/common, @nestjs/core, @nestjs/schedule'],
    ['lib/orm/typeorm/x.ts', 'pg', 'orm/typeorm', 'typeorm, @nestjs/common, @nestjs/core'],
  ])('%s may not know %s', (path, specifier, room, known) => {
    expect(arrowsIn(path, '', `import { a } from '${specifier}';`)).toEqual([
      `${path}:2 imports ${specifier}; from outside, ${room} may import ${known}`,
    ]);
  });

  it('an import of a computed name could be any, so it is none of the allowed', () => {
    expect(arrowsIn('lib/lease/x.ts', 'const load = (name: string) => import(name);')).toEqual([
      'lib/lease/x.ts:1 imports a computed name; from outside, lease may import nothing',
    ]);
  });

  it('a folder that is no room is found', () => {
    expect(arrowsIn('lib/attic/x.ts', '')).toEqual([
      'lib/attic/x.ts lies in no room of the table in test/tidy/rooms.ts',
    ]);
  });
});

describe('the front door', () => {
  const doorOf = (text: string): string[] =>
    findingsOf(checkFrontDoor, [{ path: 'lib/index.ts', text }]);

  it('may pass names on', () => {
    expect(doorOf(`export { a } from './a.js';\nexport type { B } from './b.js';`)).toEqual([]);
  });

  test.each([`export * from './a.js';`, `export const a = 1;`, `import './a.js';`, `start();`])(
    'may not hold %s',
    (text) => {
      expect(doorOf(text)).toEqual([
        'lib/index.ts:1 does more than pass names on; ' +
          'the front door holds `export { X } from` alone',
      ]);
    },
  );
});

describe('the sample app', () => {
  const findings = (text: string): string[] =>
    findingsOf(checkSampleApp, [{ path: 'sample-app/src/orders/order.ts', text }]);

  it('may import itself and packages', () => {
    expect(findings(`import '../main.js';\nimport 'nestjs-snowflake/typeorm';`)).toEqual([]);
  });

  it('may not reach into lib', () => {
    expect(findings(`import { IdMaker } from '../../../lib/index.js';`)).toEqual([
      'sample-app/src/orders/order.ts:1 imports ../../../lib/index.js; ' +
        'the sample app knows the library by its package name',
    ]);
  });
});
