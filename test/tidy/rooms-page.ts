/**
 * The rooms as docs/internals/architecture.md shows them: the tree of lib, and the table of arrows.
 * Its column of the outside world is in words, and is not compared.
 */
import { ROOMS, rulesOf, type Room } from './rooms.js';

/** `| room | may import | ... |`, by room. */
export function rowsOf(page: string): Map<string, string> {
  const [, table = ''] = /^\| room .*\n\|[ -|]*\n((?:\|.*\n)+)/m.exec(page) ?? [];
  const cells = table.split('\n').map((row) => row.split('|').map((cell) => cell.trim()));
  return new Map(cells.filter(([, room]) => room).map(([, room, may]) => [room!, may!]));
}

/** What the table must say. Errors bring messages along, and so does every room of core. */
export function mayImport({ room, imports, typesOf = [], loads = [] }: Room): string {
  const isMeant = imports.includes('errors') || room.startsWith('core/');
  const named = imports.filter((name) => !(isMeant && name === 'messages'));
  const parts = [
    ...(named.length > 0 ? [named.join(', ')] : []),
    ...(typesOf.length > 0 ? [`types of ${typesOf.join(', ')}`] : []),
    ...(loads.length > 0 ? [`${loads.join(', ')} by import()`] : []),
  ];
  return parts.join('; ') || 'nothing';
}

/** Rows that say something else than rooms.ts, and rooms that have none. */
export function tableFaults(page: string): string[] {
  const rows = rowsOf(page);
  const wrong = [...rows].flatMap(([room, may]) => {
    const rules = rulesOf(room);
    const right = rules && mayImport(rules);
    return may === right ? [] : [`${room}: ${right ?? 'is no room'}`];
  });
  const spoken = new Set([...rows.keys()].map((room) => rulesOf(room)?.room));
  const missing = ROOMS.filter(({ room }) => !spoken.has(room)).map(({ room }) => `no ${room}`);
  return [...wrong, ...missing];
}

/** What lies in lib itself and is not named in the tree. */
export function treeFaults(page: string, paths: readonly string[]): string[] {
  const [, tree = ''] = /```\nlib\/\n(.*?)```/s.exec(page) ?? [];
  const named = tree.split('\n').map((line) => /^ {2}([\w.-]+)\/? /.exec(line)?.[1]);
  const inLib = paths.filter((path) => path.startsWith('lib/')).map((path) => path.split('/')[1]!);
  return [...new Set(inLib)].filter((name) => !named.includes(name));
}
