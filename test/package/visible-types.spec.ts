/** The declarations that are published: all that users can reach, with its documentation. */
import { expect, it } from '@jest/globals';
import { visibleTypes } from '../../scripts/visible-types.mjs';

const FILES: Record<string, string> = {
  'index.js':
    "export { made } from './made.js';\nexport type { Shown as Seen } from './shown.js';\n",
  'made.js': [
    '/** The file of what is made. */',
    "import { Injectable } from '@nestjs/common';",
    "import type { Unused, Used } from './used.js';",
    '/** Makes it. */',
    'export declare function made(of: Used): import("./far.js").Far;',
    '/** For its own room. */',
    'export declare function inside(of: Unused): Injectable;',
    'export {};',
    '',
  ].join('\n'),
  'used.js': '/** How. */\nexport interface Used {\n  a: number;\n}\nexport type Unused = 1;\n',
  'far.js': 'declare const far: unique symbol, near: 1;\nexport type Far = typeof far;\n',
  'shown.js': [
    '/** The file of what is shown. */',
    '/** What is shown. */',
    'export interface Shown {}',
    '',
  ].join('\n'),
};

const visible = visibleTypes(['index.js'], (path) => FILES[path] ?? '');

it('are what an entry exports, and what that names', () => {
  expect(visible('index.js')).toBe(FILES['index.js']);
  expect(visible('made.js')).toBe(
    [
      "import type { Used } from './used.js';",
      '/** Makes it. */',
      'export declare function made(of: Used): import("./far.js").Far;',
      'export {};',
      '',
    ].join('\n'),
  );
  expect(visible('far.js')).toBe(FILES['far.js']);
});

it('have their documentation, also at the top of a file, and no head of a file', () => {
  expect(visible('used.js')).toBe('/** How. */\nexport interface Used {\n  a: number;\n}\n');
  expect(visible('shown.js')).toBe('/** What is shown. */\nexport interface Shown {}\n');
});
