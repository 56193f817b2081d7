/**
 * The rooms of the house and the arrows between them, as data. A room may always import itself;
 * everything a line does not allow is forbidden. The reasons are in docs/internals/architecture.
 */

export interface Room {
  /** A folder of lib, or a file without its ending. `stores` speaks for each `stores/X`. */
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

const BELOW_CORE = ['core/clock', 'core/id-words', 'errors', 'messages'];

export const ROOMS: readonly Room[] = [
  { room: 'errors', imports: [], outside: [] },
  { room: 'process-wide', imports: [], outside: [] },
  { room: 'url-schemes', imports: [], outside: [] },
  { room: 'messages', imports: ['url-schemes'], outside: [] },
  { room: 'options', imports: ['errors', 'messages'], outside: [] },
  // Numbers in, ids out; from left to right: text <- layout <- window <- generator.
  { room: 'core/clock', imports: [], outside: [] },
  { room: 'core/id-words', imports: [], outside: [] },
  {
    room: 'core/text',
    imports: ['core/id-words', 'options', 'errors', 'messages'],
    outside: [],
  },
  { room: 'core/layout', imports: ['core/text', 'options', ...BELOW_CORE], outside: [] },
  { room: 'core/window', imports: ['core/layout', ...BELOW_CORE], outside: [] },
  {
    room: 'core/generator',
    imports: ['core/window', 'core/layout', 'core/text', 'options', ...BELOW_CORE],
    outside: [],
  },
  // Names only: the entry `nestjs-snowflake/core`.
  { room: 'core/index', imports: ['core', 'errors'], outside: [] },
  // Time, timers and chance as ports; who this process is.
  { room: 'time', imports: [], outside: [] },
  // What the option `generator` takes; types, and how a value is told.
  { room: 'generator', imports: [], typesOf: ['core', 'time'], outside: [] },
  { room: 'lease', imports: ['time', 'core', 'errors', 'messages', 'process-wide'], outside: [] },
  // Rows with compare-and-swap, which every store of rows offers, and the clock it tells.
  {
    room: 'rows',
    imports: ['time', 'core', 'errors', 'messages'],
    typesOf: ['lease'],
    outside: [],
  },
  // What every store does, without a store: it answers in the words of the contract of lease.
  {
    room: 'registry',
    imports: ['rows', 'lease', 'time', 'core', 'errors', 'messages'],
    outside: ['node:crypto'],
  },
  // Counters, without a store; they share the clock that never goes back.
  {
    room: 'counters',
    imports: ['generator', 'options', 'registry', 'rows', 'time', 'core', 'errors', 'messages'],
    outside: ['node:crypto'],
  },
  // Locks, without a store: contract and rules, and whoever holds them.
  {
    room: 'lock',
    imports: ['options', 'registry', 'rows', 'time', 'core', 'errors', 'messages', 'process-wide'],
    outside: ['node:async_hooks', 'node:crypto'],
  },
  // The store's clock of a registry in this process is the clock of this process.
  {
    room: 'stores/memory',
    imports: [
      'counters',
      'lock',
      'options',
      'registry',
      'rows',
      'lease',
      'core',
      'errors',
      'messages',
      'process-wide',
    ],
    outside: [],
  },
  // The store's clock of a registry on this host is the clock of this host.
  {
    room: 'stores/host',
    imports: ['options', 'registry', 'rows', 'lease', 'core', 'errors', 'messages', 'url-schemes'],
    outside: ['node:fs/promises', 'node:path'],
  },
  // The table of URL schemes loads the backend that a URL names, and no other.
  {
    room: 'stores/schemes',
    imports: ['lease', 'errors', 'messages', 'url-schemes'],
    typesOf: ['registry', 'counters', 'lock', 'generator'],
    loads: ['stores', 'counters'],
    outside: [],
  },
  {
    room: 'stores',
    imports: [
      'counters',
      'lock',
      'options',
      'registry',
      'rows',
      'lease',
      'time',
      'errors',
      'messages',
      'url-schemes',
      'process-wide',
    ],
    typesOf: ['generator'],
    outside: [],
  },
  // Names only: the entry `nestjs-snowflake/store`.
  { room: 'store', imports: ['registry', 'rows', 'counters', 'lock'], outside: [] },
  {
    room: 'nest',
    imports: [
      'stores/schemes',
      'generator',
      'core',
      'lease',
      'lock',
      'options',
      'time',
      'errors',
      'messages',
      'process-wide',
    ],
    outside: ['@nestjs/common', '@nestjs/core', '@nestjs/schedule'],
  },
  // The text of an id on its way to and from any driver.
  { room: 'orm/exact-text', imports: ['core', 'errors', 'messages'], outside: [] },
  {
    room: 'orm/typeorm',
    imports: ['orm/exact-text', 'nest', 'options', 'core', 'errors', 'messages', 'process-wide'],
    outside: ['typeorm', '@nestjs/common', '@nestjs/core'],
  },
  // Both are known by shape, so nothing of them is imported.
  { room: 'orm/prisma', imports: ['nest', 'options', 'errors', 'messages'], outside: [] },
  { room: 'orm/drizzle', imports: ['orm/exact-text', 'core'], outside: [] },
  {
    room: 'http',
    imports: ['core', 'options', 'errors', 'messages'],
    outside: ['@nestjs/common', 'rxjs', 'rxjs/operators'],
  },
  {
    room: 'api-keys',
    imports: ['core', 'options', 'errors', 'messages'],
    outside: ['@nestjs/common', 'node:crypto', 'node:zlib'],
  },
  {
    room: 'health',
    imports: ['nest', 'options'],
    typesOf: ['generator', 'lease', 'core'],
    outside: ['@nestjs/common', '@nestjs/core', '@nestjs/terminus'],
  },
  {
    room: 'metrics',
    imports: ['nest', 'lease', 'options', 'time', 'process-wide'],
    typesOf: ['generator', 'core', 'lock'],
    outside: ['@nestjs/common'],
  },
  {
    room: 'dashboard',
    imports: ['nest', 'health', 'core', 'lease', 'options', 'time', 'errors', 'messages'],
    typesOf: ['generator', 'lock'],
    outside: ['@nestjs/common', '@nestjs/core'],
  },
  {
    room: 'cli',
    imports: [
      'stores/schemes',
      'api-keys',
      'core',
      'lease',
      'options',
      'time',
      'registry',
      'errors',
      'messages',
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
      'options',
      'time',
      'errors',
      'messages',
      'process-wide',
    ],
    typesOf: ['nest'],
    outside: [],
  },
];

/** Single files that may know more of the outside world than their room. */
export const FILES_THAT_KNOW: Readonly<Record<string, readonly string[]>> = {
  'lib/stores/host/ordinal.support.ts': ['node:os'],
  'lib/stores/host/folder-files.ts': ['node:crypto'],
  'lib/stores/host/folder.support.ts': ['node:url'],
  'lib/stores/redis/redis.support.ts': ['node:crypto'],
  'lib/stores/redis/redis-connection.ts': ['node:crypto'],
  'lib/stores/etcd/etcd-client.ts': ['node:events', 'node:http'],
  'lib/stores/redis/redis-options.ts': ['node:crypto'],
  'lib/stores/etcd/etcd-options.ts': ['node:fs'],
  'lib/stores/etcd/http-request.ts': ['node:http', 'node:https'],
  'lib/stores/etcd/etcd-store.ts': ['node:crypto'],
  'lib/stores/etcd/etcd-lock-reader.ts': ['node:crypto'],
  'lib/stores/sql/sql-url.ts': ['node:fs', 'node:net'],
  'lib/stores/sql/dialects/sqlite.ts': ['node:fs'],
  'lib/stores/sql/sql-rows.ts': ['node:crypto'],
  'lib/stores/sql/sql-session.ts': ['node:crypto'],
  'lib/stores/sql/postgres-releases.ts': ['node:crypto'],
  // Entries of their own, each behind an optional package.
  'lib/http/swagger.ts': ['@nestjs/swagger'],
  'lib/api-keys/swagger.ts': ['@nestjs/swagger'],
  'lib/http/class-validator.ts': ['class-validator'],
  'lib/http/class-transformer.ts': ['class-transformer'],
  'lib/http/zod.ts': ['zod'],
  'lib/http/graphql.ts': ['graphql'],
  'lib/time/process-identity.ts': ['node:crypto', 'node:os', 'node:v8'],
  'lib/nest/resolve-options.ts': ['node:fs', 'node:path'],
  'lib/nest/engine.ts': ['node:fs', 'node:path'],
};

/** Single files that may load a package by import() when it is needed, and name its types. */
export const FILES_THAT_LOAD: Readonly<Record<string, readonly string[]>> = {
  'lib/stores/redis/redis-client.ts': ['ioredis'],
  'lib/stores/sql/open-client.ts': ['pg', 'mysql2/promise', 'better-sqlite3', 'libsql'],
};

/** The front door may name every room, because it only passes names on. */
export const FRONT_DOOR = 'lib/index.ts';

/** Folders of lib whose folders and files are rooms of their own. */
const HOUSES: readonly string[] = ['core', 'stores', 'orm'];

/** The room a file of lib lies in, e.g. `core/window`, `stores/redis`. */
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
