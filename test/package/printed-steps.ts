/**
 * What a document tells a newcomer to do in an application of `nest new`: the line that installs,
 * the files that it shows, and the call with its answer. Nothing is written here a second time.
 */
import { readFile } from 'node:fs/promises';
import { ROOT } from '../tidy/tree.js';

export interface PrintedSteps {
  /** As it stands there, for this version of Nest. */
  installLine(nestMajor: number): string;
  /** By their paths, the texts of the blocks that follow a path. */
  readonly files: ReadonlyMap<string, string>;
  /** What is asked of the application, and what is shown as its answer. */
  readonly curl: { readonly path: string; readonly answer: string };
}

export async function printedSteps(document: string): Promise<PrintedSteps> {
  const text = await readFile(`${ROOT}/${document}`, 'utf8');
  const found = (pattern: RegExp): readonly string[] => {
    const match = pattern.exec(text);
    if (match === null) throw new Error(`${document} has nothing like ${pattern.source}`);
    return match.slice(1);
  };
  const format = text.matchAll(/^`(src\/[\w.]+\.ts)`.*:\n\n```ts\n([^]*?)^```$/gm);
  const [path = '', answer = ''] = found(/^\$ curl http:\/\/localhost:3000(\S+)\n(.*)$/m);
  return {
    installLine: (major) => found(new RegExp(`^(npm install .*?) +# Nest ${major}$`, 'm'))[0]!,
    files: new Map([...format].map(([, file = '', code = '']) => [file, code])),
    curl: { path, answer },
  };
}

/** The text of a root module that imports these modules, as its author would write it. */
export function withImports(rootModule: string, files: readonly string[]): string {
  const ending = /from '\.\/app\.controller(\.js)?'/.exec(rootModule)?.[1] ?? '';
  const modules = files.map((file) => {
    const name = /^src\/(\w+)\.module\.ts$/.exec(file)![1]!;
    return { name: `${name[0]!.toUpperCase()}${name.slice(1)}Module`, from: `./${name}.module` };
  });
  const lines = modules.map(({ name, from }) => `import { ${name} } from '${from}${ending}';\n`);
  const list = modules.map(({ name }) => name).join(', ');
  return lines.join('') + rootModule.replace('imports: []', `imports: [${list}]`);
}
