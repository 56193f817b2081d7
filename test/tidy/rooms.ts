/**
 * The rooms of the house and the arrows between them, as data. A room may always import itself;
 * everything a line does not allow is forbidden. The reasons are in docs/internals/architecture.
 */

export interface Room {
  /** A folder of lib, or a file without its ending. `backends` speaks for each `backends/X`. */
  readonly room: string;
  /** Rooms it may import. */
  readonly imports: readonly string[];
  /** Rooms of which it may import types alone. */
  readonly typesOf?: readonly string[];
  /** Rooms that one file of it may load by dynamic import. */
  readonly loads?: readonly string[];
  /** Packages and node modules it may know. */
  readonly outside: readonly string[];
}

export const ROOMS: readonly Room[] = [
  { room: 'errors', imports: [], outside: [] },
  { room: 'process-wide', imports: [], outside: [] },
  { room: 'core', imports: ['errors'], outside: [] },
  // Time, timers and chance as ports; who this process is.
  { room: 'patience', imports: ['core', 'errors'], outside: [] },
  { room: 'lease', imports: ['patience', 'core', 'errors', 'process-wide'], outside: [] },
  // What every store does, without a store: it answers in the words of the contract of lease.
  { room: 'registry', imports: ['lease'], typesOf: ['patience'], outside: [] },
  // The store's clock of a registry in this process is the clock of this process.
  { room: 'backends/memory', imports: ['registry', 'lease', 'core', 'errors'], outside: [] },
  // The table of URL schemes loads the backend that a URL names, and no other.
  {
    room: 'backends/schemes',
    imports: ['lease', 'errors'],
    typesOf: ['registry'],
    loads: ['backends'],
    outside: [],
  },
  { room: 'backends', imports: ['registry', 'lease', 'patience', 'errors'], outside: [] },
  {
    room: 'nest',
    imports: ['backends/schemes', 'core', 'lease', 'patience', 'errors', 'process-wide'],
    outside: ['@nestjs/common', '@nestjs/core', '@nestjs/schedule'],
  },
  {
    room: 'orm/typeorm',
    imports: ['nest', 'core', 'errors', 'process-wide'],
    outside: ['typeorm', '@nestjs/common', '@nestjs/core'],
  },
  {
    room: 'http',
    imports: ['core', 'errors'],
    outside: ['@nestjs/common', 'rxjs', 'rxjs/operators'],
  },
  {
    room: 'health',
    imports: ['nest'],
    typesOf: ['lease', 'core'],
    outside: ['@nestjs/common', '@nestjs/core', '@nestjs/terminus'],
  },
  {
    room: 'metrics',
    imports: ['nest', 'lease', 'patience', 'process-wide'],
    typesOf: ['core'],
    outside: ['@nestjs/common'],
  },
  {
    room: 'dashboard',
    imports: ['nest', 'health', 'core', 'lease', 'patience', 'errors'],
    outside: ['@nestjs/common', '@nestjs/core'],
  },
  {
    room: 'cli',
    imports: ['backends/schemes', 'core', 'lease', 'patience', 'registry', 'errors'],
    outside: ['node:process', 'node:util', 'node:fs'],
  },
  {
    room: 'testing',
    imports: ['core', 'lease', 'patience', 'errors', 'process-wide'],
    typesOf: ['nest'],
    outside: [],
  },
];

/** Single files that may know more of the outside world than their room. */
export const FILES_THAT_KNOW: Readonly<Record<string, readonly string[]>> = {
  'lib/backends/host/ordinal.support.ts': ['node:os'],
  'lib/backends/redis/worker-ids/redis.support.ts': ['node:crypto'],
  'lib/backends/redis/connection/redis-connection.ts': ['node:crypto'],
  // Entries of their own, each behind an optional package.
  'lib/http/swagger.ts': ['@nestjs/swagger'],
  'lib/http/class-validator.ts': ['class-validator'],
  'lib/http/class-transformer.ts': ['class-transformer'],
  'lib/http/zod.ts': ['zod'],
  'lib/http/graphql.ts': ['graphql'],
  'lib/patience/process-identity.ts': ['node:crypto', 'node:os', 'node:v8'],
  'lib/nest/application-name.ts': ['node:fs', 'node:path'],
};

/** Single files that may load a package by import() when it is needed, and name its types. */
export const FILES_THAT_LOAD: Readonly<Record<string, readonly string[]>> = {
  'lib/backends/redis/connection/redis-client.ts': ['ioredis'],
};

/** The front door may name every room, because it only passes names on. */
export const FRONT_DOOR = 'lib/index.ts';

/** The room a file of lib lies in, e.g. `core`, `backends/redis`. */
export function roomOf(path: string): string {
  const [, first = '', second = ''] = path.replace(/\.\w+$/, '').split('/');
  return first === 'backends' || first === 'orm' ? `${first}/${second}` : first;
}

/** The line of the table that speaks for a room. */
export function rulesOf(room: string): Room | undefined {
  return ROOMS.find((rules) => isRoom(rules.room, room));
}

/** True when the name in the table means this room: itself, or all rooms below it. */
export function isRoom(named: string, room: string): boolean {
  return room === named || room.startsWith(`${named}/`);
}
