/**
 * A shop in its own database: the tables of shop.prisma, and their rows, read without Prisma.
 */
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import ts from 'typescript';
import { ownDatabase } from '../../../own-database.js';
import { run, runWith } from '../../../package/command.js';
import { madeOnce } from '../../../support/made-once.mjs';
import { ROOT } from '../../../tidy/tree.js';

export type Provider = 'postgresql' | 'mysql';

export interface Row {
  readonly id: bigint;
  readonly [field: string]: unknown;
}

type Operation = (args?: object) => Promise<Row & Row[]>;

/** The operations of a model that exist in both majors. */
export interface Model {
  readonly create: Operation;
  readonly createMany: Operation;
  readonly createManyAndReturn: Operation;
  readonly update: Operation;
  readonly updateMany: Operation;
  readonly upsert: Operation;
  readonly findMany: Operation;
  readonly findUnique: Operation;
  readonly findUniqueOrThrow: Operation;
  readonly delete: Operation;
  readonly groupBy: Operation;
}

export interface Shop {
  readonly customer: Model;
  readonly profile: Model;
  readonly badge: Model;
  readonly order: Model;
  readonly line: Model;
  readonly part: Model;
  readonly tag: Model;
  readonly foreign: Model;
  $extends(extension: unknown): Shop;
  $transaction<T>(work: ((shop: Shop) => Promise<T>) | Promise<unknown>[]): Promise<T>;
  $queryRaw(sql: TemplateStringsArray, ...values: unknown[]): Promise<Row[]>;
  $queryRawUnsafe(sql: string, ...values: unknown[]): Promise<Row[]>;
  $executeRawUnsafe(sql: string, ...values: unknown[]): Promise<number>;
  $disconnect(): Promise<void>;
}

/** Each table with the ID columns that the extension fills, in an order that allows deletion. */
export const FILLED = {
  part: ['id'],
  line: ['number'],
  shop_order: ['id', 'ticket_text'],
  badge: ['id'],
  profile: ['id'],
  customer: ['id'],
  tag: ['id'],
  foreigner: ['marked'],
} as const;

export type Table = keyof typeof FILLED;

const tables = (serial: string, quote: string): string[] => {
  const q = (name: string) => `${quote}${name}${quote}`;
  return [
    `customer (id bigint PRIMARY KEY, email varchar(99) NOT NULL UNIQUE,
      name varchar(99) NOT NULL DEFAULT '',
      ${q('inviterId')} bigint REFERENCES customer (id))`,
    `profile (id bigint PRIMARY KEY, data json,
      ${q('customerId')} bigint NOT NULL UNIQUE REFERENCES customer (id))`,
    `badge (id varchar(20) PRIMARY KEY, title varchar(99) NOT NULL,
      ${q('profileId')} bigint REFERENCES profile (id))`,
    `shop_order (id bigint PRIMARY KEY, note varchar(99), ticket_text varchar(20) NOT NULL UNIQUE,
      ${q('customerId')} bigint REFERENCES customer (id))`,
    `line (${q('orderId')} bigint NOT NULL REFERENCES shop_order (id), number bigint NOT NULL,
      product varchar(99) NOT NULL, PRIMARY KEY (${q('orderId')}, number))`,
    `part (id bigint PRIMARY KEY, material varchar(99) NOT NULL, ${q('orderId')} bigint NOT NULL,
      ${q('lineNumber')} bigint NOT NULL,
      FOREIGN KEY (${q('orderId')}, ${q('lineNumber')}) REFERENCES line (${q('orderId')}, number))`,
    `tag (id bigint PRIMARY KEY, label varchar(99) NOT NULL UNIQUE)`,
    `${q('_OrderToTag')} (${q('A')} bigint NOT NULL REFERENCES shop_order (id),
      ${q('B')} bigint NOT NULL REFERENCES tag (id), PRIMARY KEY (${q('A')}, ${q('B')}))`,
    `foreigner (id ${serial} PRIMARY KEY, uuid varchar(40) NOT NULL,
      made varchar(40) NOT NULL DEFAULT (concat('by the ', 'database')),
      marked varchar(20) NOT NULL)`,
  ].map((table) => `CREATE TABLE ${table}`);
};

export interface OpenDatabase {
  readonly provider: Provider;
  readonly url: URL;
  /** The values of an ID column, as the stored digits. */
  idsIn(table: Table, column: string): Promise<string[]>;
  clear(): Promise<void>;
  drop(): Promise<void>;
}

type RunSql = (sql: string) => Promise<Record<string, unknown>[]>;

async function connect(provider: Provider, url: URL): Promise<[RunSql, () => Promise<void>]> {
  if (provider === 'postgresql') {
    const client = new pg.Client(url.href);
    await client.connect();
    return [async (sql) => (await client.query(sql)).rows, () => client.end()];
  }
  const connection = await createConnection(url.href);
  const query: RunSql = async (sql) =>
    (await connection.query(sql))[0] as Record<string, unknown>[];
  return [query, () => connection.end()];
}

export async function openDatabase(provider: Provider): Promise<OpenDatabase> {
  const isPostgres = provider === 'postgresql';
  const own = await ownDatabase(process.env[isPostgres ? 'DATABASE_URL' : 'MYSQL_URL']!);
  const url = new URL(own.url);
  const [query, close] = await connect(provider, url);
  const serial = isPostgres ? 'serial' : 'int AUTO_INCREMENT';
  for (const sql of tables(serial, isPostgres ? '"' : '`')) await query(sql);
  return {
    provider,
    url,
    idsIn: async (table, column) => {
      const text = isPostgres ? `${column}::text` : `CAST(${column} AS char)`;
      const rows = await query(`SELECT ${text} AS id FROM ${table} ORDER BY ${column}`);
      return rows.map(({ id }) => id as string);
    },
    clear: async () => {
      await query(`DELETE FROM ${isPostgres ? '"_OrderToTag"' : '`_OrderToTag`'}`);
      const own = isPostgres ? '"inviterId"' : '`inviterId`';
      await query(`UPDATE customer SET ${own} = NULL`);
      for (const table of Object.keys(FILLED)) await query(`DELETE FROM ${table}`);
    },
    drop: async () => {
      await close();
      await own.drop();
    },
  };
}

// Prisma clients of both majors for PostgreSQL and MariaDB, installed and generated once.
//
// They are not dependencies of this project: two majors with their command lines are 400 MB, and
// Prisma 7 brings a package that warns on Node 20.

export type Major = 6 | 7;

const SOURCES = 'test/orm/prisma/clients';
const OWN_PATH = 'test/orm/prisma/support/shop.ts';
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

/** Prisma 6 downloads engines for migrations and queries, but the client needs neither. */
const NO_ENGINE = '#!/bin/sh\nexit 0\n';
const engineIn = (folder: string): string => `${folder}/no-engine.sh`;

/** The environment of Prisma's command line. */
export const noDownloads = (folder: string): Record<string, string> => ({
  PRISMA_SCHEMA_ENGINE_BINARY: engineIn(folder),
  PRISMA_QUERY_ENGINE_LIBRARY: engineIn(folder),
  CHECKPOINT_DISABLE: '1',
});

/** Prisma 6 generated JavaScript clients by default, and Prisma 7 generates TypeScript clients. */
const GENERATORS: Readonly<Record<Major, string>> = {
  6: '  provider = "prisma-client-js"\n  engineType = "client"\n',
  7: '  provider = "prisma-client"\n',
};

/** With this feature, Prisma refuses explicit undefined, so the extension must not pass any. */
const FEATURES: Readonly<Record<Major, string>> = {
  6: '  previewFeatures = ["strictUndefinedChecks"]\n',
  7: '  previewFeatures = ["strictUndefinedChecks", "relationJoins"]\n',
};

/** @returns the folder, which has a subfolder for each provider */
export function generatedClients(major: Major): Promise<string> {
  return madeOnce(`prisma-${major}`, [SOURCES, OWN_PATH], async (folder) => {
    await cp(`${ROOT}/${SOURCES}/prisma-${major}`, folder, { recursive: true });
    await run(folder, 'npm', ...INSTALL);
    await writeFile(engineIn(folder), NO_ENGINE);
    await chmod(engineIn(folder), 0o755);
    for (const provider of ['postgresql', 'mysql'] as const) {
      const schema = await writeSchema(folder, major, provider);
      const generate = ['node_modules/prisma/build/index.js', 'generate', '--no-hints', '--schema'];
      await runWith(noDownloads(folder), folder, process.execPath, ...generate, schema);
    }
  });
}

/** Splits the schema into two files, as larger applications do. */
async function writeSchema(folder: string, major: Major, provider: Provider): Promise<string> {
  const schema = `${folder}/${provider}/schema`;
  await mkdir(schema, { recursive: true });
  await cp(`${ROOT}/${SOURCES}/shop.prisma`, `${schema}/shop.prisma`);
  const url = major === 6 ? '  url = env("DATABASE_URL")\n' : '';
  await writeFile(
    `${schema}/main.prisma`,
    `generator client {\n${GENERATORS[major]}  output = "../generated/prisma"\n${FEATURES[major]}}\n` +
      `datasource db {\n  provider = "${provider}"\n${url}}\n`,
  );
  return schema;
}

interface Connection {
  readonly provider: Provider;
  readonly url: URL;
}

/** A new client without the extension. */
export async function openClient(major: Major, database: Connection): Promise<Shop> {
  const PrismaClient = await prismaClient(major, database.provider);
  return new PrismaClient({ adapter: await adapterFor(major, database) });
}

export type PrismaClientClass = new (options: object) => Shop;

export async function prismaClient(major: Major, provider: Provider): Promise<PrismaClientClass> {
  const folder = `${await generatedClients(major)}/${provider}/generated/prisma`;
  const module: unknown = await import(`${folder}/${major === 6 ? 'index.js' : 'client.ts'}`);
  return (module as { PrismaClient: PrismaClientClass }).PrismaClient;
}

export async function adapterFor(major: Major, { provider, url }: Connection): Promise<object> {
  const require = createRequire(`${await generatedClients(major)}/package.json`);
  if (provider === 'postgresql') {
    const { PrismaPg } = require('@prisma/adapter-pg') as {
      PrismaPg: new (options: object) => object;
    };
    return new PrismaPg({ connectionString: url.href });
  }
  const { PrismaMariaDb } = require('@prisma/adapter-mariadb') as {
    PrismaMariaDb: new (options: object) => object;
  };
  return new PrismaMariaDb({
    host: url.hostname,
    port: Number(url.port),
    user: url.username,
    password: url.password,
    database: url.pathname.slice(1),
    connectionLimit: 2,
  });
}

/*
 * Compiles files next to a generated client, in an application that has the sources of this
 * library.
 */

const OPTIONS = {
  strict: true,
  noEmit: true,
  skipLibCheck: true,
  experimentalDecorators: true,
  target: 'es2023',
  lib: ['es2024', 'esnext.disposable'],
  module: 'preserve',
  moduleResolution: 'bundler',
  allowImportingTsExtensions: true,
  types: ['node'],
  typeRoots: [`${ROOT}/node_modules/@types`],
  paths: {
    'nestjs-snowflake/prisma': [`${ROOT}/lib/orm/prisma/index.ts`],
    '@nestjs/common': [`${ROOT}/node_modules/@nestjs/common/index.d.ts`],
  },
};

/** The compiler errors of each code, by its name. The code imports the generated client. */
export async function faultsOf(
  major: Major,
  codes: Readonly<Record<string, string>>,
): Promise<Record<string, string[]>> {
  const folder = `${await generatedClients(major)}/postgresql`;
  const client = `./generated/prisma/${major === 6 ? 'index' : 'client'}.js`;
  for (const [name, code] of Object.entries(codes)) {
    const text = code.replaceAll('./generated/prisma/client.js', client);
    await writeFile(`${folder}/${name}.ts`, text);
  }
  const names = Object.keys(codes);
  const settings = { compilerOptions: OPTIONS, files: names.map((name) => `${name}.ts`) };
  const { options, fileNames } = ts.parseJsonConfigFileContent(settings, ts.sys, folder);
  // One program for all of them, because most of the work is the generated client.
  const program = ts.createProgram(fileNames, options);
  const faults = (name: string): string[] => {
    const file = program.getSourceFile(`${folder}/${name}.ts`)!;
    const found = [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ];
    return found.map(
      ({ code, messageText }) => `TS${code} ${ts.flattenDiagnosticMessageText(messageText, ' ')}`,
    );
  };
  return Object.fromEntries(names.map((name) => [name, faults(name)]));
}
