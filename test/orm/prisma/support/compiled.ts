/**
 * What the compiler says of a file beside a generated client, in an application that has the
 * sources of this library.
 */
import { writeFile } from 'node:fs/promises';
import { run } from '../../../package/command.js';
import { ROOT } from '../../../tidy/tree.js';
import { generatedClients, type Major } from './generated-clients.js';

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

/** Rejects with the faults; `@prisma/client` of the code is the client that was generated. */
export async function compile(major: Major, name: string, code: string): Promise<void> {
  const folder = `${await generatedClients(major)}/postgresql`;
  const client = `./generated/prisma/${major === 6 ? 'index' : 'client'}.js`;
  await writeFile(`${folder}/${name}.ts`, code.replaceAll('./generated/prisma/client.js', client));
  const config = { compilerOptions: OPTIONS, files: [`${name}.ts`] };
  await writeFile(`${folder}/tsconfig.${name}.json`, JSON.stringify(config));
  const tsc = `${ROOT}/node_modules/typescript/bin/tsc`;
  await run(folder, process.execPath, tsc, '--project', `tsconfig.${name}.json`);
}
