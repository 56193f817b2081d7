/** An application of files in memory, to which the schematic is added as the Nest CLI does it. */
import { nestAdd } from '../../schematics/nest-add.cjs';

type Files = Readonly<Record<string, string>>;

export interface Added {
  readonly files: Record<string, string>;
  /** What is left to be done by hand. */
  readonly warnings: string[];
  readonly installs: object[];
  /** What is said at the end. */
  readonly said: string;
}

export const MANIFEST = `${JSON.stringify(
  {
    name: 'shop',
    scripts: { start: 'nest start', 'start:dev': 'nest start --watch', build: 'nest build' },
    dependencies: { '@nestjs/core': '^12.0.1', rxjs: '^7.8.1' },
  },
  null,
  2,
)}\n`;

export const MODULE = `import { Module } from '@nestjs/common';
import { AppController } from './app.controller.js';

@Module({
  imports: [],
  controllers: [AppController],
})
export class AppModule {}
`;

export const MAIN = `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(process.env.PORT ?? 3000);
}
await bootstrap();
`;

export function addTo(files: Files, options: object = {}): Added {
  const tree = new Map(Object.entries(files));
  const warnings: string[] = [];
  const installs: object[] = [];
  const said: string[] = [];
  const write = (path: string, text: string): void => void tree.set(path, text);
  const schematic = nestAdd({ sourceRoot: 'src', ...options });
  schematic(
    {
      read: (path) => {
        const text = tree.get(path.replace(/^\//, ''));
        return text === undefined ? null : Buffer.from(text);
      },
      overwrite: write,
      create: write,
      getDir: (folder) => ({
        visit: (see) =>
          [...tree.keys()].filter((p) => p.startsWith(`${folder}/`)).forEach((p) => see(`/${p}`)),
      }),
    },
    {
      logger: { info: (text) => said.push(text), warn: (text) => warnings.push(text) },
      addTask: (task) => installs.push(task.toConfiguration()),
    },
  );
  return { files: Object.fromEntries(tree), warnings, installs, said: said.join('') };
}

/** What `nest new` writes, but for these files. */
export const newApp = (others: Files = {}): Files => ({
  'package.json': MANIFEST,
  'src/app.module.ts': MODULE,
  'src/main.ts': MAIN,
  ...others,
});
