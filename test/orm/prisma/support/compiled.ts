/**
 * What the compiler says of files beside a generated client, in an application that has the
 * sources of this library.
 */
import { writeFile } from 'node:fs/promises';
import ts from 'typescript';
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

/** What it says of each code by its name; the client in it is the one that was generated. */
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
  // One program of all of them: a generated client is most of the work.
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
