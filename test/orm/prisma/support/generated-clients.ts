/**
 * Prisma clients of both majors for PostgreSQL and MariaDB, installed and generated once.
 *
 * They are not dependencies of this project: two majors with their command lines are 400 MB, and
 * Prisma 7 brings a package that warns on Node 20.
 */
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { run, runWith } from '../../../package/command.js';
import { madeOnce } from '../../../support/made-once.mjs';
import { ROOT } from '../../../tidy/tree.js';
import type { Provider, Shop } from './shop.js';

export type Major = 6 | 7;

const SOURCES = 'test/orm/prisma/clients';
const OWN_PATH = 'test/orm/prisma/support/generated-clients.ts';
const INSTALL = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'];

/** Prisma 6 downloads engines that migrate and query, though the client needs neither. */
const NO_ENGINE = '#!/bin/sh\nexit 0\n';

/** A client in JavaScript was the default of 6, one in TypeScript is that of 7. */
const GENERATORS: Readonly<Record<Major, string>> = {
  6: '  provider = "prisma-client-js"\n  engineType = "client"\n',
  7: '  provider = "prisma-client"\n',
};

/** An undefined that is written down is refused, so the extension must write none. */
const STRICT = '  previewFeatures = ["strictUndefinedChecks"]\n';

/** @returns the folder with a folder for each provider */
export function generatedClients(major: Major): Promise<string> {
  return madeOnce(`prisma-${major}`, [SOURCES, OWN_PATH], async (folder) => {
    await cp(`${ROOT}/${SOURCES}/prisma-${major}`, folder, { recursive: true });
    await run(folder, 'npm', ...INSTALL);
    const engine = `${folder}/no-engine.sh`;
    await writeFile(engine, NO_ENGINE);
    await chmod(engine, 0o755);
    const env = {
      PRISMA_SCHEMA_ENGINE_BINARY: engine,
      PRISMA_QUERY_ENGINE_LIBRARY: engine,
      CHECKPOINT_DISABLE: '1',
    };
    for (const provider of ['postgresql', 'mysql'] as const) {
      const schema = await writeSchema(folder, major, provider);
      const generate = ['node_modules/prisma/build/index.js', 'generate', '--no-hints', '--schema'];
      await runWith(env, folder, process.execPath, ...generate, schema);
    }
  });
}

/** In two files, as larger applications have it. */
async function writeSchema(folder: string, major: Major, provider: Provider): Promise<string> {
  const schema = `${folder}/${provider}/schema`;
  await mkdir(schema, { recursive: true });
  await cp(`${ROOT}/${SOURCES}/shop.prisma`, `${schema}/shop.prisma`);
  const url = major === 6 ? '  url = env("DATABASE_URL")\n' : '';
  await writeFile(
    `${schema}/main.prisma`,
    `generator client {\n${GENERATORS[major]}  output = "../client"\n${STRICT}}\n` +
      `datasource db {\n  provider = "${provider}"\n${url}}\n`,
  );
  return schema;
}

interface Connection {
  readonly provider: Provider;
  readonly url: URL;
}

/** A new client without the extension. */
export async function openClient(major: Major, { provider, url }: Connection): Promise<Shop> {
  const folder = await generatedClients(major);
  const path = `${folder}/${provider}/client/${major === 6 ? 'index.js' : 'client.ts'}`;
  const { PrismaClient } = (await import(path)) as {
    PrismaClient: new (options: object) => Shop;
  };
  const require = createRequire(`${folder}/package.json`);
  return new PrismaClient({ adapter: adapterFor(require, provider, url) });
}

function adapterFor(require: NodeJS.Require, provider: Provider, url: URL): object {
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
