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
  /** Rooms that it may load by dynamic import. */
  readonly loads?: readonly string[];
  /** Packages and node modules it may know. */
  readonly outside: readonly string[];
}

const BELOW_CORE = ['core/clock', 'core/id-words', 'errors', 'shown'];

export const ROOMS: readonly Room[] = [
  { room: 'errors', imports: [], outside: [] },
  { room: 'process-wide', imports: [], outside: [] },
  { room: 'url-schemes', imports: [], outside: [] },
  { room: 'shown', imports: ['url-schemes'], outside: [] },
  // Which of the names that there are was probably meant.
  { room: 'nearest', imports: [], outside: [] },
  { room: 'option-faults', imports: ['errors', 'shown', 'nearest'], outside: [] },
  // Numbers in, ids out; from left to right: text <- layout <- seat <- generator.
  { room: 'core/clock', imports: [], outside: [] },
  { room: 'core/id-words', imports: [], outside: [] },
  {
    room: 'core/text',
    imports: ['core/id-words', 'option-faults', 'errors', 'shown'],
    outside: [],
  },
  { room: 'core/layout', imports: ['core/text', 'option-faults', ...BELOW_CORE], outside: [] },
  { room: 'core/seat', imports: ['core/layout', ...BELOW_CORE], outside: [] },
  {
    room: 'core/generator',
    imports: ['core/seat', 'core/layout', 'core/text', 'option-faults', ...BELOW_CORE],
    outside: [],
  },
  // Names only: the entry `nestjs-snowflake/core`.
  { room: 'core/index', imports: ['core', 'errors'], outside: [] },
  // Time, timers and chance as ports; who this process is.
  { room: 'patience', imports: [], outside: [] },
  // What the option `generator` takes; types, and how a value is told.
  { room: 'generator-kind', imports: [], typesOf: ['core', 'patience'], outside: [] },
  { room: 'lease', imports: ['patience', 'core', 'errors', 'shown', 'process-wide'], outside: [] },
  // What every store does, without a store: it answers in the words of the contract of lease.
  {
    room: 'registry',
    imports: ['lease', 'patience', 'core', 'errors', 'shown'],
    outside: ['node:crypto'],
  },
  // Counters, without a store; they share the clock that never goes back.
  {
    room: 'counters',
    imports: ['generator-kind', 'option-faults', 'registry', 'patience', 'core', 'errors', 'shown'],
    outside: ['node:crypto'],
  },
  // Locks, without a store: contract and rules, and whoever holds them.
  {
    room: 'lock',
    imports: ['option-faults', 'registry', 'patience', 'core', 'errors', 'shown', 'process-wide'],
    outside: ['node:async_hooks', 'node:crypto'],
  },
  // The store's clock of a registry in this process is the clock of this process.
  {
    room: 'backends/memory',
    imports: [
      'counters',
      'lock',
      'option-faults',
      'registry',
      'lease',
      'core',
      'errors',
      'shown',
      'process-wide',
    ],
    outside: [],
  },
  // The store's clock of a registry on this host is the clock of this host.
  {
    room: 'backends/host',
    imports: ['option-faults', 'registry', 'lease', 'core', 'errors', 'shown', 'url-schemes'],
    outside: ['node:fs/promises', 'node:path'],
  },
  // The table of URL schemes loads the backend that a URL names, and no other.
  {
    room: 'backends/schemes',
    imports: ['lease', 'errors', 'shown', 'url-schemes'],
    typesOf: ['registry', 'counters', 'lock', 'generator-kind'],
    loads: ['backends', 'counters'],
    outside: [],
  },
  {
    room: 'backends',
    imports: [
      'counters',
      'lock',
      'option-faults',
      'registry',
      'lease',
      'patience',
      'errors',
      'shown',
      'url-schemes',
      'process-wide',
    ],
    typesOf: ['generator-kind'],
    outside: [],
  },
  {
    room: 'nest',
    imports: [
      'backends/schemes',
      'generator-kind',
      'core',
      'lease',
      'lock',
      'option-faults',
      'nearest',
      'patience',
      'errors',
      'shown',
      'process-wide',
    ],
    outside: ['@nestjs/common', '@nestjs/core', '@nestjs/schedule'],
  },
  // The text of an id on its way to and from any driver.
  { room: 'orm/exact-text', imports: ['core', 'errors', 'shown'], outside: [] },
  {
    room: 'orm/typeorm',
    imports: ['orm/exact-text', 'nest', 'nearest', 'core', 'errors', 'shown', 'process-wide'],
    outside: ['typeorm', '@nestjs/common', '@nestjs/core'],
  },
  // Both are known by shape, so nothing of them is imported.
  { room: 'orm/prisma', imports: ['nest', 'option-faults', 'errors', 'shown'], outside: [] },
  { room: 'orm/drizzle', imports: ['orm/exact-text', 'core'], outside: [] },
  {
    room: 'http',
    imports: ['core', 'option-faults', 'errors', 'shown'],
    outside: ['@nestjs/common', 'rxjs', 'rxjs/operators'],
  },
  {
    room: 'api-keys',
    imports: ['core', 'option-faults', 'errors', 'shown'],
    outside: ['@nestjs/common', 'node:crypto', 'node:zlib'],
  },
  {
    room: 'health',
    imports: ['nest', 'option-faults'],
    typesOf: ['generator-kind', 'lease', 'core'],
    outside: ['@nestjs/common', '@nestjs/core', '@nestjs/terminus'],
  },
  {
    room: 'metrics',
    imports: ['nest', 'lease', 'option-faults', 'patience', 'process-wide'],
    typesOf: ['generator-kind', 'core', 'lock'],
    outside: ['@nestjs/common'],
  },
  {
    room: 'dashboard',
    imports: ['nest', 'health', 'core', 'lease', 'option-faults', 'patience', 'errors', 'shown'],
    typesOf: ['generator-kind', 'lock'],
    outside: ['@nestjs/common', '@nestjs/core'],
  },
  {
    room: 'cli',
    imports: [
      'backends/schemes',
      'api-keys',
      'core',
      'lease',
      'patience',
      'registry',
      'nearest',
      'errors',
      'shown',
      'url-schemes',
    ],
    typesOf: ['counters', 'lock'],
    outside: ['node:process', 'node:util', 'node:fs'],
  },
  {
    room: 'testing',
    imports: [
      'counters',
      'lock',
      'core',
      'lease',
      'option-faults',
      'patience',
      'errors',
      'shown',
      'process-wide',
    ],
    typesOf: ['nest'],
    outside: [],
  },
];

/** Single files that may know more of the outside world than their room. */
export const FILES_THAT_KNOW: Readonly<Record<string, readonly string[]>> = {
  'lib/backends/host/ordinal.support.ts': ['node:os'],
  'lib/backends/host/private-address.ts': ['node:os'],
  'lib/backends/host/folder-files.ts': ['node:crypto'],
  'lib/backends/host/folder.support.ts': ['node:url'],
  'lib/backends/redis/worker-ids/redis.support.ts': ['node:crypto'],
  'lib/backends/redis/connection/redis-connection.ts': ['node:crypto'],
  'lib/backends/etcd/connection/etcd-client.ts': ['node:events', 'node:http'],
  'lib/backends/redis/connection/redis-hash.ts': ['node:crypto'],
  'lib/backends/etcd/connection/etcd-url.ts': ['node:fs'],
  'lib/backends/etcd/connection/http-request.ts': ['node:http', 'node:https'],
  'lib/backends/etcd/worker-ids/etcd-store.ts': ['node:crypto'],
  'lib/backends/etcd/locks/etcd-lock-reader.ts': ['node:crypto'],
  'lib/backends/sql/connection/sql-url.ts': ['node:fs', 'node:net'],
  'lib/backends/sql/dialects/sqlite.ts': ['node:fs'],
  'lib/backends/sql/row-changes.ts': ['node:crypto'],
  'lib/backends/sql/sql-session.ts': ['node:crypto'],
  'lib/backends/sql/sql-keyed-rows.ts': ['node:crypto'],
  'lib/backends/sql/locks/postgres-releases.ts': ['node:crypto'],
  // Entries of their own, each behind an optional package.
  'lib/http/swagger.ts': ['@nestjs/swagger'],
  'lib/api-keys/swagger.ts': ['@nestjs/swagger'],
  'lib/http/class-validator.ts': ['class-validator'],
  'lib/http/class-transformer.ts': ['class-transformer'],
  'lib/http/zod.ts': ['zod'],
  'lib/http/graphql.ts': ['graphql'],
  'lib/patience/process-identity.ts': ['node:crypto', 'node:os', 'node:v8'],
  'lib/nest/application-name.ts': ['node:fs', 'node:path'],
  'lib/nest/package-advice.ts': ['node:fs', 'node:path'],
};

/** Single files that may load a package by import() when it is needed, and name its types. */
export const FILES_THAT_LOAD: Readonly<Record<string, readonly string[]>> = {
  'lib/backends/redis/connection/redis-client.ts': ['ioredis'],
  'lib/backends/sql/connection/open-client.ts': [
    'pg',
    'mysql2/promise',
    'better-sqlite3',
    'libsql',
  ],
};

/** The front door may name every room, because it only passes names on. */
export const FRONT_DOOR = 'lib/index.ts';

/** Folders of lib whose folders and files are rooms of their own. */
const HOUSES: readonly string[] = ['core', 'backends', 'orm'];

/** The room a file of lib lies in, e.g. `core/seat`, `backends/redis`. */
export function roomOf(path: string): string {
  const [, first = '', second = ''] = path.replace(/\.\w+$/, '').split('/');
  return HOUSES.includes(first) ? `${first}/${second}` : first;
}

/** The line of the table that speaks for a room. */
export function rulesOf(room: string): Room | undefined {
  return ROOMS.find((rules) => isRoom(rules.room, room));
}

/** True when the name in the table means this room: itself, or all rooms below it. */
export function isRoom(named: string, room: string): boolean {
  return room === named || room.startsWith(`${named}/`);
}
