/**
 * Checks the arrows: who imports whom. The table is in rooms.ts; here it is only applied.
 * Also: the front door passes names on and does nothing else, and the sample app, like any other
 * user, knows the library by its package name.
 */
import { posix } from 'node:path';
import ts from 'typescript';
import { isCode, isLib, type Check, type Finding, type TextFile } from './check.js';
import { FILES_THAT_KNOW, FILES_THAT_LOAD, FRONT_DOOR } from './rooms.js';
import { isRoom, roomOf, rulesOf, type Room } from './rooms.js';
import { importsOf, lineOf, treeOf, type Import } from './syntax.js';

/** Every import of lib is one the table allows. */
export const checkArrows: Check = (files) => {
  const inRooms = files.filter((f) => isLib(f) && isCode(f) && f.path !== FRONT_DOOR);
  return inRooms.flatMap(arrowsOf);
};

function arrowsOf(file: TextFile): Finding[] {
  const { path } = file;
  const rules = rulesOf(roomOf(path));
  if (!rules) return [{ path, message: 'lies in no room of the table in test/tidy/rooms.ts' }];
  return importsOf(file).flatMap((arrow) => {
    const fault = isInside(arrow)
      ? insideFault(path, arrow, rules)
      : outsideFault(path, arrow, rules);
    return fault ? [{ path, line: arrow.line, message: fault }] : [];
  });
}

const isInside = ({ specifier }: Import): boolean => specifier.startsWith('.');

function insideFault(path: string, arrow: Import, rules: Room): string | undefined {
  const { imports, typesOf = [], loads = [] } = rules;
  const target = targetOf(path, arrow);
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

function outsideFault(path: string, arrow: Import, rules: Room): string | undefined {
  const { specifier, kind } = arrow;
  const known = [...rules.outside, ...(FILES_THAT_KNOW[path] ?? [])];
  if (known.includes(specifier)) return undefined;
  if (kind !== 'value' && FILES_THAT_LOAD[path]?.includes(specifier)) return undefined;
  return `imports ${specifier}; from outside, ${roomOf(path)} may import ${list(known)}`;
}

const targetOf = (path: string, { specifier }: Import): string =>
  posix.join(posix.dirname(path), specifier).replace(/\.js$/, '.ts');

const list = (names: readonly string[]): string => names.join(', ') || 'nothing';

/** lib/index.ts only re-exports, each name by name. */
export const checkFrontDoor: Check = (files) =>
  files
    .filter(({ path }) => path === FRONT_DOOR)
    .flatMap((file) =>
      treeOf(file)
        .statements.filter((statement) => !isNamedReExport(statement))
        .map((statement) => ({
          path: file.path,
          line: lineOf(statement),
          message: 'does more than pass names on; the front door holds `export { X } from` alone',
        })),
    );

const isNamedReExport = (node: ts.Statement): boolean =>
  ts.isExportDeclaration(node) &&
  node.moduleSpecifier !== undefined &&
  node.exportClause !== undefined &&
  ts.isNamedExports(node.exportClause);

/** The sample app imports the library as its users do. */
export const checkSampleApp: Check = (files) =>
  files
    .filter((file) => file.path.startsWith('sample-app/') && isCode(file))
    .flatMap((file) =>
      importsOf(file)
        .filter((arrow) => isInside(arrow) && !targetOf(file.path, arrow).startsWith('sample-app/'))
        .map(({ specifier, line }) => ({
          path: file.path,
          line,
          message: `imports ${specifier}; the sample app knows the library by its package name`,
        })),
    );
