/**
 * `nest add` edits what it understands, as its author would have, and names what it leaves alone.
 * The Nest CLI itself runs it in test/package/newcomers.spec.ts.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest, test } from '@jest/globals';
import ts from 'typescript';
import { nestAdd } from '../../schematics/nest-add.cjs';

// An application of files in memory, to which the schematic is added as the Nest CLI does it.

type Files = Readonly<Record<string, string>>;

interface Added {
  readonly files: Record<string, string>;
  /** What is left to be done by hand. */
  readonly warnings: string[];
  readonly installs: object[];
  /** What is said at the end. */
  readonly said: string;
}

const MANIFEST = `${JSON.stringify(
  {
    name: 'shop',
    scripts: { start: 'nest start', 'start:dev': 'nest start --watch', build: 'nest build' },
    dependencies: { '@nestjs/core': '^12.0.1', rxjs: '^7.8.1' },
  },
  null,
  2,
)}\n`;

const MODULE = `import { Module } from '@nestjs/common';
import { AppController } from './app.controller.js';

@Module({
  imports: [],
  controllers: [AppController],
})
export class AppModule {}
`;

const MAIN = `import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';

async function bootstrap() {
  const app = await NestFactory.create(AppModule);
  await app.listen(process.env.PORT ?? 3000);
}
await bootstrap();
`;

function addTo(files: Files, options: object = {}): Added {
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
const newApp = (others: Files = {}): Files => ({
  'package.json': MANIFEST,
  'src/app.module.ts': MODULE,
  'src/main.ts': MAIN,
  ...others,
});

const withModule = (text: string) => addTo(newApp({ 'src/app.module.ts': text }));

const moduleOf = (text: string) => withModule(text).files['src/app.module.ts']!;

/** Between `@Module(` and the class. */
const decoratorOf = (text: string) => /@Module\((.*)\)\s*export/s.exec(moduleOf(text))![1];

const ADDED = `    ScheduleModule.forRoot(),
    SnowflakeModule.forRootAsync({
      useFactory: () => ({ support: process.env.SNOWFLAKE_SUPPORT }),
    }),
`;

describe('what nest new writes', () => {
  const added = addTo(newApp());

  it('gets the modules', () => {
    expect(added.files['src/app.module.ts']).toBe(`import { Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { SnowflakeModule } from 'nestjs-snowflake';
import { AppController } from './app.controller.js';

@Module({
  imports: [
${ADDED}  ],
  controllers: [AppController],
})
export class AppModule {}
`);
  });

  it('gets the hooks', () => {
    const line = '  const app = await NestFactory.create(AppModule);\n';
    const hooks = '  app.enableShutdownHooks();\n';
    expect(added.files['src/main.ts']).toBe(MAIN.replace(line, line + hooks));
  });

  it('gets the packages, sorted, and what starts the application reads .env', () => {
    expect(JSON.parse(added.files['package.json']!)).toEqual({
      name: 'shop',
      scripts: {
        start: 'nest start --env-file .env',
        'start:dev': 'nest start --env-file .env --watch',
        build: 'nest build',
      },
      dependencies: {
        '@nestjs/core': '^12.0.1',
        '@nestjs/schedule': '^12.0.0',
        ioredis: '^5.4.0',
        'nestjs-snowflake': expect.stringMatching(/^\^\d/) as unknown,
        rxjs: '^7.8.1',
      },
    });
    expect(added.installs).toEqual([expect.objectContaining({ name: 'node-package' }) as unknown]);
  });

  it('gets the variable', () => {
    const line = 'SNOWFLAKE_SUPPORT=redis://localhost:6379?namespace=shop\n';
    expect(added.files['.env']).toBe(line);
    expect(added.files['.env.example']).toBe(line);
    expect(added.warnings).toEqual([]);
  });

  it('is told that a database needs its table, and that no other store does', () => {
    const saidOf = (support: string) => addTo(newApp(), { support }).said;
    const create = 'snowflake registry create';
    for (const scheme of ['postgres', 'postgresql', 'mysql', 'mariadb']) {
      expect(saidOf(`${scheme}://app@db/shop`)).toContain(create);
    }
    expect(saidOf('sqlite:./var/shop.db')).toContain(create);
    for (const support of ['redis://db', 'etcd://db', 'file:./var', 'static:7']) {
      expect(saidOf(support)).toMatch(/^\nNext: set SNOWFLAKE_SUPPORT(?!.*registry create)/s);
    }
  });

  it('stays as it is a second time, and nothing is installed', () => {
    const again = addTo(added.files);
    expect(again).toEqual({ files: added.files, warnings: [], installs: [], said: '' });
  });
});

/** Each is edited so that it compiles, and then left as it is. */
const MODULES: readonly [shape: string, given: string, expected: string][] = [
  [
    'a list of lines',
    '{\n  imports: [\n    A,\n    B, // first\n  ],\n}',
    `{\n  imports: [\n    A,\n    B, // first\n${ADDED}  ],\n}`,
  ],
  [
    'a list without a last comma',
    '{\n  imports: [\n    A // only\n  ]\n}',
    `{\n  imports: [\n    A, // only\n${ADDED.replace(/,\n$/, '\n')}  ]\n}`,
  ],
  ['one line', '{\n  imports: [A, B],\n}', `{\n  imports: [\n    A,\n    B,\n${ADDED}  ],\n}`],
  [
    'a comment alone',
    '{\n  imports: [\n    // none\n  ],\n}',
    `{\n  imports: [\n    // none\n${ADDED}  ],\n}`,
  ],
  ['no list', '{\n  providers: [],\n}', `{\n  imports: [\n${ADDED}  ],\n  providers: [],\n}`],
  ['no list, in one line', '{ providers: [] }', `{\n  imports: [\n${ADDED}  ],\n  providers: [] }`],
  ['nothing', '{}', `{\n  imports: [\n${ADDED}  ],\n}`],
];

describe('a module with', () => {
  test.each(MODULES)('%s', (_, given, expected) => {
    const text = MODULE.replace(/\{\n.*\}(?=\))/s, () => given);
    expect(decoratorOf(text)).toBe(expected);
    const edited = moduleOf(text);
    const { diagnostics } = ts.transpileModule(edited, { reportDiagnostics: true });
    expect(diagnostics).toEqual([]);
    expect(moduleOf(edited)).toBe(edited);
  });

  it('other quotes, indentation and ends of lines keeps them', () => {
    const ofTheirs = (text: string) =>
      text
        .replaceAll(/^( {2})+/gm, (spaces) => '\t'.repeat(spaces.length / 2))
        .replaceAll("'", '"')
        .replaceAll(';\n', '\n')
        .replaceAll('\n', '\r\n');
    const expected = ofTheirs(moduleOf(MODULE));
    expect(moduleOf(ofTheirs(MODULE))).toBe(expected);
    expect(addTo(newApp({ 'src/main.ts': ofTheirs(MAIN) })).files['src/main.ts']).toContain(
      '\tapp.enableShutdownHooks()\r\n',
    );
  });

  it('a name of its own for the file is found by main.ts', () => {
    const files = newApp({
      'src/main.ts': MAIN.replaceAll('AppModule', 'ShopModule').replace('app.module', 'shop/root'),
      'src/shop/root.ts': MODULE.replace('AppModule', 'ShopModule'),
    });
    const added = addTo(files).files;
    expect(added['src/shop/root.ts']).toContain('SnowflakeModule.forRootAsync');
    expect(added['src/app.module.ts']).toBe(MODULE);
  });

  it('ScheduleModule elsewhere gets no second one, after which every job would run twice', () => {
    const jobs = "import { ScheduleModule } from '@nestjs/schedule';\nScheduleModule.forRoot();\n";
    const own = addTo(newApp({ 'src/jobs/jobs.module.ts': jobs }));
    const projects = { jobs: { type: 'library', sourceRoot: 'libs/jobs/src' } };
    const ofLibrary = addTo(
      newApp({ 'nest-cli.json': JSON.stringify({ projects }), 'libs/jobs/src/jobs.ts': jobs }),
    );
    for (const { files } of [own, ofLibrary]) {
      expect(files['src/app.module.ts']).not.toContain('ScheduleModule');
      expect(files['src/app.module.ts']).toContain('SnowflakeModule');
    }
    const inTest = addTo(newApp({ 'src/jobs.spec.ts': jobs }));
    expect(inTest.files['src/app.module.ts']).toContain('ScheduleModule.forRoot()');
  });
});

/** Nothing of these is edited. */
const ODD: readonly [shape: string, module: string][] = [
  ['spread elements', MODULE.replace('imports: []', 'imports: [...shared]')],
  ['spread properties', MODULE.replace('imports: []', '...shared')],
  ['a list from elsewhere', MODULE.replace('imports: []', 'imports: shared')],
  ['a list made by a call', MODULE.replace('imports: []', 'imports: [].concat(shared)')],
  ['a property by name alone', MODULE.replace('imports: []', 'imports')],
  ['arguments from elsewhere', MODULE.replace(/\{\n.*\}(?=\))/s, 'options')],
  ['no arguments', MODULE.replace(/\{\n.*\}(?=\))/s, '')],
  ['two modules in a file', `${MODULE}\n@Module({})\nclass Other {}\n`],
  ['a ScheduleModule of its own', `${MODULE}\nclass ScheduleModule {}\n`],
  ['a comment in one line', MODULE.replace('imports: []', 'imports: [A /* first */, B]')],
];

describe('it says what to do by hand where it finds', () => {
  test.each(ODD)('%s', (_, module) => {
    const { files, warnings } = withModule(module);
    expect(files['src/app.module.ts']).toBe(module);
    expect(warnings).toEqual([
      expect.stringMatching(/By hand: src\/app\.module\.ts.*SnowflakeModule\.forRootAsync/s),
    ]);
    expect(files['.env']).toContain('SNOWFLAKE_SUPPORT=');
  });

  test.each([
    ['no name for the application', MAIN.replace('const app = ', '')],
    ['two applications', MAIN + MAIN],
    ['a factory of its own', MAIN.replaceAll('NestFactory', 'Factory')],
  ])('%s', (_, main) => {
    const { files, warnings } = addTo(newApp({ 'src/main.ts': main }));
    expect(files['src/main.ts']).toBe(main);
    expect(warnings).toEqual([expect.stringMatching(/src\/main\.ts.*enableShutdownHooks/s)]);
  });

  it('an application in JavaScript', () => {
    const { files, warnings } = addTo({ 'package.json': MANIFEST, 'src/main.js': MAIN });
    expect(warnings).toHaveLength(2);
    expect(files['src/main.js']).toBe(MAIN);
  });
});

describe('the store', () => {
  test.each([
    ['rediss://h', 'ioredis'],
    ['redis+cluster://h', 'ioredis'],
    ['valkey://h', 'ioredis'],
    ['valkeys+sentinel://h/m', 'ioredis'],
    ['postgres://h/d', 'pg'],
    ['mariadb://h/d', 'mysql2'],
    ['sqlite:./shop.db', 'better-sqlite3'],
    ['file:./var/snowflake', undefined],
    ['etcd://h', undefined],
  ])('%s needs %s', (support, client) => {
    const { files } = addTo(newApp(), { support });
    const { dependencies } = JSON.parse(files['package.json']!) as { dependencies: object };
    const clients = ['ioredis', 'pg', 'mysql2', 'better-sqlite3'].filter((n) => n in dependencies);
    expect(clients).toEqual(client === undefined ? [] : [client]);
  });

  it('in .env stays, and is what the client is for', () => {
    const env = 'PORT=1\nSNOWFLAKE_SUPPORT="postgres://db/shop"';
    const { files } = addTo(newApp({ '.env': env, '.env.example': 'PORT=1' }));
    expect(files['.env']).toBe(env);
    expect(files['.env.example']).toMatch(/^PORT=1\nSNOWFLAKE_SUPPORT=redis:\S+\n$/);
    expect(files['package.json']).toContain('"pg"');
  });

  it('has no password in .env.example', () => {
    const { files } = addTo(newApp(), { support: 'redis://u:p%23w@h:1?namespace=a' });
    expect(files['.env']).toContain('u:p%23w@h:1');
    expect(files['.env.example']).toBe('SNOWFLAKE_SUPPORT=redis://h:1?namespace=a\n');
  });

  it('is not set for an application that has the module already', () => {
    const own = "SnowflakeModule.forRoot({ support: 'etcd://h' });\nScheduleModule.forRoot();\n";
    const { files } = addTo(newApp({ 'src/ids.ts': own }));
    expect(Object.keys(files)).not.toContain('.env');
    expect(files['src/app.module.ts']).toBe(MODULE);
  });

  it('is read by @nestjs/config where that is', () => {
    const manifest = MANIFEST.replace('"rxjs"', '"@nestjs/config": "^12.0.0",\n    "rxjs"');
    const { files } = addTo(newApp({ 'package.json': manifest }));
    expect(files['package.json']).not.toContain('--env-file');
  });
});

describe('the client of Redis', () => {
  const folders: string[] = [];
  afterEach(() => {
    jest.restoreAllMocks();
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
  });

  /** An application that asks for these, of which some are installed. */
  function appWith(
    asked: Record<string, string>,
    given: { installed?: object; kind?: 'devDependencies'; support?: string } = {},
  ) {
    const { installed = {}, kind = 'dependencies', ...options } = given;
    const folder = mkdtempSync(join(tmpdir(), 'snowflake-nest-add-'));
    folders.push(folder);
    for (const [name, version] of Object.entries(installed)) {
      mkdirSync(join(folder, 'node_modules', name), { recursive: true });
      const path = join(folder, 'node_modules', name, 'package.json');
      writeFileSync(path, JSON.stringify({ name, version }));
    }
    jest.spyOn(process, 'cwd').mockReturnValue(folder);
    const manifest = JSON.parse(MANIFEST) as Record<string, object>;
    manifest[kind] = { ...manifest[kind], ...asked };
    // The compiler is that of the application, and there is none in this folder.
    const { files, said } = addTo(newApp({ 'package.json': JSON.stringify(manifest) }), options);
    const { dependencies } = JSON.parse(files['package.json']!) as { dependencies: object };
    return { added: Object.keys(dependencies).includes('ioredis') ? ['ioredis'] : [], said };
  }

  test.each([
    [{ redis: '^6.0.0' }],
    [{ redis: '>=5' }],
    [{ redis: 'latest' }],
    [{ iovalkey: '^0.3.0' }],
    [{ '@valkey/valkey-glide': '^2.0.0' }],
  ])('that is there is used: %j', (asked) => {
    const { added, said } = appWith(asked);
    expect(added).toEqual([]);
    expect(said).toContain(`Redis is reached by ${Object.keys(asked)[0]}, which package.json has.`);
  });

  it('is the one that a URL takes first', () => {
    const { said } = appWith({ redis: '^6.0.0', ioredis: '^5.4.0' });
    expect(said).toContain('Redis is reached by ioredis');
  });

  test.each([
    [{ redis: '^4.7.0' }, 'redis 4'],
    [{ redis: '3' }, 'redis 3'],
    [{ '@valkey/valkey-glide': '~1.3.0' }, '@valkey/valkey-glide 1'],
  ])('that is too old is not used, and that is said: %j', (asked, name) => {
    const { added, said } = appWith(asked);
    expect(added).toEqual(['ioredis']);
    expect(said).toContain(`ioredis is added: ${name} of package.json is too old to be used.`);
  });

  it('is known by the version that is installed', () => {
    const range = { redis: '>=4' };
    expect(appWith(range, { installed: { redis: '6.3.1' } }).added).toEqual([]);
    expect(appWith(range, { installed: { redis: '4.7.1' } }).added).toEqual(['ioredis']);
  });

  it('is added where there is only one for tests, or one that knows no Sentinel', () => {
    expect(appWith({ redis: '^6.0.0' }, { kind: 'devDependencies' }).added).toEqual(['ioredis']);
    const glide = { '@valkey/valkey-glide': '^2.0.0' };
    expect(appWith(glide, { support: 'redis+sentinel://h/m' }).added).toEqual(['ioredis']);
    expect(appWith(glide, { support: 'redis+cluster://h' }).added).toEqual([]);
  });

  it('is not spoken of where another store is named', () => {
    const { said } = appWith({ redis: '^6.0.0' }, { support: 'postgres://h/d' });
    expect(said).not.toContain('Redis');
  });
});

describe('the command line', () => {
  it('can leave the installation to its user', () => {
    expect(addTo(newApp(), { skipInstall: true }).installs).toEqual([]);
  });

  it('has no options that are not known', () => {
    expect(() => addTo(newApp(), { suport: 'x' })).toThrow('Unknown options: suport');
  });

  it('installs with Bun where its lock is', () => {
    const [task] = addTo(newApp({ 'bun.lock': '' })).installs;
    expect(task).toMatchObject({ options: { packageManager: 'bun' } });
  });
});
