// Compiles a project of the application by its own TypeScript, and checks what it says itself and
// the types of the library. Those of all others are two thirds of the work of `tsc`, and not ours.
import ts from 'typescript';

const [project, ...flags] = process.argv.slice(2);
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
const program = ts.createProgram(fileNames, options);
const isOthers = /\/node_modules\/(?!nestjs-snowflake\/)/;
const checked = program.getSourceFiles().filter(({ fileName }) => !isOthers.test(fileName));
const found = [
  ...errors,
  ...program.getOptionsDiagnostics(),
  ...program.getGlobalDiagnostics(),
  ...checked.flatMap((file) => program.getSyntacticDiagnostics(file)),
  ...checked.flatMap((file) => program.getSemanticDiagnostics(file)),
];
// One by one: at once it would check all files.
if (!flags.includes('--noEmit')) {
  for (const file of checked.filter(({ isDeclarationFile }) => !isDeclarationFile)) {
    program.emit(file);
  }
}
const isLibrary = ({ fileName }) => fileName.includes('/node_modules/nestjs-snowflake/');
console.log(ts.formatDiagnostics(found, ts.createCompilerHost(options)));
console.log(JSON.stringify({ errors: found.length, ofTheLibrary: checked.some(isLibrary) }));
process.exitCode = found.length === 0 ? 0 : 1;
