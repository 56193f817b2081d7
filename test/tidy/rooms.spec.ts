/**
 * The dependency rules of lib. The table in docs/internals/architecture.md lists the allowed
 * imports of each room. A room may always import itself; all other imports are forbidden.
 */
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { expect, it, test } from '@jest/globals';
import { isCode, isLib, type TextFile, ROOT, readTree } from './tree.js';
import { importsOf, type Import } from './syntax.js';

interface Room {
  /** A folder of lib, or a file without its extension. */
  readonly room: string;
  readonly imports: readonly string[];
  /** Rooms from which it may import only types. */
  readonly typesOf: readonly string[];
  /** Rooms that it may load by dynamic import. */
  readonly loads: readonly string[];
  readonly outside: readonly Outside[];
}

/** Packages and node modules that a room may use. */
interface Outside {
  readonly names: readonly string[];
  /** The files that may use them, without extension; absent: the whole room. */
  readonly files?: readonly string[] | undefined;
  /** True: only by import() and by type. */
  readonly isLoaded: boolean;
}

const PAGE = readFileSync(`${ROOT}/docs/internals/architecture.md`, 'utf8');

/** The rows of `| room | may import | outside world it may know |`. */
function roomsOf(page: string): Room[] {
  const [, table = ''] = /^\| room .*\n\|[ -|]*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  return table.split('\n').flatMap((row) => {
    const [, room, may = '', outside = ''] = row.split('|').map((cell) => cell.trim());
    return room ? [{ room, ...insideOf(may), outside: outside.split('; ').map(outsideOf) }] : [];
  });
}

/** `a, b; types of c; d by import()`. A room that may import errors may import messages. */
function insideOf(may: string): Omit<Room, 'room' | 'outside'> {
  const parts = may === 'nothing' ? [] : may.split('; ');
  const named = (pattern: RegExp): string[] =>
    parts.flatMap((part) => pattern.exec(part)?.[1]?.split(', ') ?? []);
  const imports = named(/^(?!types of )((?:(?! by import\(\)).)+)$/);
  return {
    imports: imports.includes('errors') ? [...imports, 'messages'] : imports,
    typesOf: named(/^types of (.+)$/),
    loads: named(/^(.+) by import\(\)$/),
  };
}

/** `` `a`, `b` in c, d `` and `` loads `a` in c ``; other text is ignored. */
function outsideOf(part: string): Outside {
  return {
    names: [...part.matchAll(/`([^`]+)`/g)].map(([, name]) => name!),
    files: / in ([\w.-]+(?:, [\w.-]+)*)/.exec(part)?.[1]?.split(', '),
    isLoaded: part.startsWith('loads '),
  };
}

const ROOMS: readonly Room[] = roomsOf(PAGE);

/** Entries at the top of lib that the page's tree does not name. */
function treeFaults(paths: readonly string[], page = PAGE): string[] {
  const [, tree = ''] = /```\nlib\/\n(.*?)```/s.exec(page) ?? [];
  const named = tree.split('\n').map((line) => /^ {2}([\w.-]+)\/? /.exec(line)?.[1]);
  const inLib = paths.filter((path) => path.startsWith('lib/')).map((path) => path.split('/')[1]!);
  return [...new Set(inLib)].filter((name) => !named.includes(name));
}

/** The front door may import every room, because it only re-exports names. */
const FRONT_DOOR = 'lib/index.ts';

/** Folders of lib whose folders and files are rooms of their own. */
const HOUSES: readonly string[] = ['core', 'stores', 'orm'];

/** The room of a file in lib, e.g. `core/window`, `stores/redis`. */
function roomOf(path: string): string {
  const [, first = '', second = ''] = path.replace(/\.\w+$/, '').split('/');
  return HOUSES.includes(first) ? `${first}/${second}` : first;
}

/** True if the name in the table refers to this room or to a folder above it. */
function isRoom(named: string, room: string): boolean {
  return room === named || room.startsWith(`${named}/`);
}

const arrowFaults = (files: readonly TextFile[]): string[] =>
  files.filter((f) => isLib(f) && isCode(f) && f.path !== FRONT_DOOR).flatMap(arrowFaultsOf);

/** Lines that an editor can open. */
function arrowFaultsOf(file: TextFile): string[] {
  const { path } = file;
  const rules = ROOMS.find(({ room }) => room === roomOf(path));
  if (!rules) return [`${path} lies in no room of the table`];
  return importsOf(file).flatMap((arrow) => {
    const isInside = arrow.specifier.startsWith('.');
    const message = isInside ? insideFault(path, arrow, rules) : outsideFault(path, arrow, rules);
    return message === undefined ? [] : [`${path}:${arrow.line} ${message}`];
  });
}

function insideFault(path: string, arrow: Import, rules: Room): string | undefined {
  const { imports, typesOf, loads } = rules;
  const target = posix.join(posix.dirname(path), arrow.specifier).replace(/\.js$/, '.ts');
  const [from, to] = [roomOf(path), roomOf(target)];
  if (target === FRONT_DOOR || !target.startsWith('lib/')) return `imports ${target}, not a room`;
  const names = (rooms: readonly string[]): boolean => rooms.some((room) => isRoom(room, to));
  if (from === to || names(imports)) return undefined;
  if (arrow.kind === 'type' && names(typesOf)) return undefined;
  if (arrow.kind === 'dynamic' && names(loads)) return undefined;
  const types = typesOf.map((room) => `types of ${room}`);
  const loaded = loads.map((room) => `${room} by import()`);
  return `imports ${target}; ${from} may import ${list([...imports, ...types, ...loaded])}`;
}

function outsideFault(path: string, arrow: Import, { room, outside }: Room): string | undefined {
  const { specifier, kind } = arrow;
  const known = outside
    .filter(({ files }) => files?.includes(posix.basename(path, '.ts')) ?? true)
    .filter(({ isLoaded }) => !isLoaded || kind !== 'value')
    .flatMap(({ names }) => names);
  if (known.includes(specifier)) return undefined;
  return `imports ${specifier}; from outside, ${room} may import ${list(known)}`;
}

const list = (names: readonly string[]): string => names.join(', ') || 'nothing';

const TREE = readTree();

it('rooms import only what the table allows', () => {
  expect(arrowFaults(TREE)).toEqual([]);
});

it('the tree on the page names every entry of lib', () => {
  expect(treeFaults(TREE.map(({ path }) => path))).toEqual([]);
  expect(treeFaults(['lib/errors.ts', 'lib/attic/a.ts'])).toEqual(['attic']);
});

it('the table names existing rooms and files', () => {
  const inLib = TREE.filter((file) => isLib(file)).map(({ path }) => path);
  const isThere = (room: string): boolean => inLib.some((path) => isRoom(room, roomOf(path)));
  const named = ROOMS.flatMap(({ room, imports, typesOf, loads }) =>
    [room, ...imports, ...typesOf, ...loads].filter((one) => !isThere(one)),
  );
  const files = ROOMS.flatMap(({ outside }) => outside.flatMap((part) => part.files ?? []));
  expect(ROOMS.length).toBeGreaterThan(20);
  expect(named).toEqual([]);
  expect(files.filter((name) => !inLib.some((path) => path.endsWith(`/${name}.ts`)))).toEqual([]);
});

const arrowsIn = (path: string, ...lines: string[]): string[] =>
  arrowFaults([{ path, text: lines.join('\n') }]);

test.each([
  ['lib/core/text/x.ts', `import { a } from '../../errors.js';`],
  ['lib/core/generator/x.ts', `import { a } from '../window/y.js';`],
  ['lib/core/text/x.ts', `import { a } from './y.js';`],
  ['lib/lease/x.ts', `import type { A } from '../core/clock.js';`],
  ['lib/time/process-identity.ts', `import { hostname } from 'node:os';`],
  ['lib/stores/packages.ts', `const load = () => import('ioredis');`],
  ['lib/nest/x.ts', `import { a } from '../stores/schemes.js';`],
  ['lib/stores/schemes.ts', `const load = () => import('./redis/index.js');`],
  ['lib/health/x.ts', `import type { A } from '../lease/lease-keeper.js';`],
  ['lib/index.ts', `export { A } from './orm/typeorm/index.js';`],
  ['test/core/x.spec.ts', `import { a } from '../../lib/time/process-identity.js';`],
])('%s may contain %s', (path, text) => {
  expect(arrowsIn(path, text)).toEqual([]);
});

test.each([
  `import { a } from '../../lease/holder.js';`,
  `import type { A } from '../../lease/holder.js';`,
  `import '../../lease/holder.js';`,
  `export { a } from '../../lease/holder.js';`,
  `export type { A } from '../../lease/holder.js';`,
  `export * from '../../lease/holder.js';`,
  `const load = () => import('../../lease/holder.js');`,
  `type A = import('../../lease/holder.js').Holder;`,
  `const a = require('../../lease/holder.js');`,
])('%s counts as an import', (text) => {
  expect(arrowsIn('lib/core/clock/x.ts', '', text)).toEqual([
    'lib/core/clock/x.ts:2 imports lib/lease/holder.ts; core/clock may import nothing',
  ]);
});

test.each([
  ['lib/errors.ts', '../core/x.js', 'imports core/x.ts, not a room'],
  ['lib/core/clock.ts', '../index.js', 'imports lib/index.ts, not a room'],
  ['lib/core/clock.ts', '../../test/y.js', 'imports test/y.ts, not a room'],
  ['lib/core/window/x.ts', '../generator/y.js', 'imports lib/core/generator/y.ts; core/window may'],
  ['lib/stores/memory/x.ts', '../redis/y.js', 'imports lib/stores/redis/y.ts; stores/memory may'],
  ['lib/stores/schemes.ts', './redis/index.js', 'imports lib/stores/redis/index.ts; stores/schem'],
  ['lib/health/x.ts', '../core/y.js', 'imports lib/core/y.ts; health may import nest, options, ty'],
  ['lib/core/window/x.ts', 'node:fs', 'imports node:fs; from outside, core/window may import noth'],
  ['lib/time/process-identity.ts', 'node:fs', 'imports node:fs; from outside, time may import n'],
  ['lib/stores/redis/redis-client.ts', 'ioredis', 'imports ioredis; from outside, stores/redis'],
  ['lib/nest/x.ts', 'rxjs', 'imports rxjs; from outside, nest may import @nestjs/common, @nestjs'],
])('%s may not import %s', (path, specifier, message) => {
  expect(arrowsIn(path, `import { a } from '${specifier}';`)).toEqual([
    expect.stringContaining(`${path}:1 ${message}`),
  ]);
});

it('an import with a computed name, and a folder outside the table, are reported', () => {
  expect(arrowsIn('lib/lease/x.ts', 'const load = (name: string) => import(name);')).toEqual([
    'lib/lease/x.ts:1 imports a computed name; from outside, lease may import nothing',
  ]);
  expect(arrowsIn('lib/attic/x.ts', '')).toEqual(['lib/attic/x.ts lies in no room of the table']);
});
