// Compiles projects of the application with its own TypeScript, one for each line of input. Prints
// the errors of the application and of the library. It does not check other types, which would be
// two thirds of the work of `tsc`. It parses each file once for all projects.
import { createInterface } from 'node:readline';
import ts from 'typescript';

const isOthers = /\/node_modules\/(?!nestjs-snowflake\/)/;
const isLibrary = ({ fileName }) => fileName.includes('/node_modules/nestjs-snowflake/');

/** Parsed files by path and parse options, which are the same in all projects. */
const trees = new Map();

function hostOf(options) {
  const host = ts.createCompilerHost(options);
  // The same mode as `tsc`.
  host.jsDocParsingMode = ts.JSDocParsingMode.ParseForTypeErrors;
  const disk = { ...host };
  host.getSourceFile = (path, how, ...rest) => {
    const key = `${path} ${JSON.stringify(how)}`;
    if (!trees.has(key)) trees.set(key, disk.getSourceFile(path, how, ...rest));
    return trees.get(key);
  };
  return host;
}

function compiled(project, flags) {
  const { options, fileNames, errors } = ts.getParsedCommandLineOfConfigFile(
    project,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (error) => {
        throw new Error(error.messageText);
      },
    },
  );
  const host = hostOf(options);
  const program = ts.createProgram(fileNames, options, host);
  const checked = program.getSourceFiles().filter(({ fileName }) => !isOthers.test(fileName));
  const found = [
    ...errors,
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...checked.flatMap((file) => program.getSyntacticDiagnostics(file)),
    ...checked.flatMap((file) => program.getSemanticDiagnostics(file)),
  ];
  // Emits one file at a time, because a full emit would check all files.
  if (!flags.includes('--noEmit')) {
    for (const file of checked.filter(({ isDeclarationFile }) => !isDeclarationFile)) {
      program.emit(file);
    }
  }
  return { errors: ts.formatDiagnostics(found, host), ofTheLibrary: checked.some(isLibrary) };
}

for await (const line of createInterface({ input: process.stdin })) {
  const [project, ...flags] = line.split(' ');
  console.log(JSON.stringify(compiled(project, flags)));
}
