/** The checks of the tarball: they find faults, and accept what is right. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, test } from '@jest/globals';
import { build } from 'esbuild';
import { reachable, visibleTypes } from '../../scripts/declarations.mjs';
import { RULES, takeOut } from '../chaos/rules.mjs';
import { packedLibrary } from '../support/builds.mjs';
import { ROOT } from '../tidy/tree.js';
import { linksToNowhere, textsThatNameNoFile, unpack } from './tarball.js';

const textOf = (path: string): string => readFileSync(`${ROOT}/${path}`, 'utf8');
const packed = (...files: [path: string, text: string][]) => new Map(files);

describe('links', () => {
  it('to files outside the package are found in every document', () => {
    const files = packed(
      ['README.md', '[a](docs/a.md) [b](docs/b.md) [c](https://x.y) [d](docs/a.md#no)'],
      ['docs/a.md', '# A\n[up](../README.md) [out](../lib/index.ts) ![i](images/x.png)'],
    );
    expect(linksToNowhere(files)).toEqual([
      'README.md:1 links to docs/b.md',
      'README.md:1 links to docs/a.md#no',
      'docs/a.md:2 links to ../lib/index.ts',
      'docs/a.md:2 links to images/x.png',
    ]);
  });
});

describe('strings of the program', () => {
  test.each([
    ["throw new Error('unknown; see docs/reference/options.md.');", 'docs/reference/options.md'],
    ['say(`${name} is unknown, see guarantees.md`);', 'guarantees.md'],
    ["const help = 'run scripts/x.mjs';", 'scripts/x.mjs'],
  ])('that name a file outside the package are found: %s', (text, named) => {
    expect(textsThatNameNoFile(packed(['dist/esm/a.js', text]))).toEqual([
      `dist/esm/a.js says ${named}`,
    ]);
  });

  test.each([
    "say('see docs/a.md');",
    '// see docs/b.md\nf();',
    "import { a } from './lib/b.js';",
    "say('https://example.org/docs/b.md');",
  ])('that name no missing file pass: %s', (text) => {
    const files = packed(['dist/esm/a.js', text], ['docs/a.md', '']);
    expect(textsThatNameNoFile(files)).toEqual([]);
  });
});

/* A bundle of one part of the core contains only that part: `textForms` needs no layouts. */
describe('core parts', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(`${tmpdir()}/nestjs-snowflake-parts-`);
    await unpack(await packedLibrary(), `${folder}/library`);
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** Bundles as for a browser. */
  async function bundled(name: string): Promise<string> {
    const names = name === '*' ? name : `{ ${name} }`;
    const contents = `export ${names} from './library/dist/esm/core/index.js';`;
    const { outputFiles } = await build({
      bundle: true,
      format: 'esm',
      minify: true,
      stdin: { contents, resolveDir: folder },
      write: false,
    });
    return outputFiles[0]!.text;
  }

  it('text forms alone are less than half as large as with layouts', async () => {
    const [forms, both] = [await bundled('textForms'), await bundled('textForms, layouts')];
    expect(forms.length).toBeLessThan(both.length / 2);
  });

  it('keep function, class and private method names in stack traces', async () => {
    const core = `${folder}/library/dist/esm/core/index.js`;
    const script = `import { BitLayout } from ${JSON.stringify(core)}; new BitLayout({});`;
    const node = ['--input-type=module', '--eval', script];
    const { stderr } = spawnSync(process.execPath, node, { encoding: 'utf8' });
    const frames = Array.from(stderr.matchAll(/^ +at (.+) \(/gm), ([, frame]) => frame);
    expect(frames.slice(0, 2)).toEqual(['refused', 'new BitLayout']);
    const modules = await unpack(await packedLibrary(), `${folder}/again`);
    const isCode = (path: string): boolean =>
      /^dist\/(?:esm\/.+\.js|data\/(?!page).+\.cjs)$/.test(path);
    const texts = [...modules].filter(([path]) => isCode(path));
    const methods = texts.flatMap(([, text]) => text.match(/#\w+(?=\([\w,]*\)\{)/g) ?? []);
    expect(methods.length).toBeGreaterThan(50);
    expect(methods.filter((name) => name.length < 4)).toEqual([]);
  });
});

/* Each module adds half a millisecond to every start, and each kilobyte adds a little. */
describe('the modules that every application loads', () => {
  it('are five, and none of them is a store', async () => {
    const folder = await mkdtemp(`${tmpdir()}/nestjs-snowflake-loaded-`);
    const files = await unpack(await packedLibrary(), `${folder}/library`);
    await rm(folder, { recursive: true });
    const textAt = (path: string): string => files.get(path) ?? '';
    const loaded = reachable(['dist/esm/index.js'], (path) =>
      textAt(path).replaceAll('import(', ''),
    );
    expect(loaded.map((path) => basename(path)).toSorted()).toEqual(
      ['core.js', 'index.js', 'lease.js', 'nest.js', 'schemes.js'].toSorted(),
    );
    const texts = loaded.map(textAt);
    // One non-ASCII character doubles a module's memory and the time to read it.
    expect(texts.filter((text) => /[^\p{ASCII}]/u.test(text))).toEqual([]);
  });
});

/* Plug'n'Play and strict folders let a package load only its declared packages. */
describe('packages loaded by name', () => {
  /** Nest requires the first, and the library recognizes Prisma by its shape. */
  const NOT_LOADED = ['reflect-metadata', '@prisma/client'];
  const NEEDED = ['@nestjs/common', '@nestjs/core', '@nestjs/schedule', 'reflect-metadata', 'rxjs'];

  it('are peers, and optional unless every application needs them', async () => {
    const folder = await mkdtemp(`${tmpdir()}/nestjs-snowflake-peers-`);
    const files = await unpack(await packedLibrary(), `${folder}/library`);
    await rm(folder, { recursive: true });
    const required = [...files]
      .filter(([path]) => path.startsWith('dist/cjs/'))
      .flatMap(([, text]) => [...text.matchAll(/require\("(?!node:)((?:@[\w-]+\/)?\w[\w-]*)/g)])
      .map(([, name]) => name!);
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(textOf('package.json')) as Record<
      string,
      Record<string, unknown>
    >;
    const peers = Object.keys(peerDependencies!).toSorted();
    expect([...new Set([...required, ...NOT_LOADED])].toSorted()).toEqual(peers);
    const optional = Object.fromEntries(
      peers.filter((name) => !NEEDED.includes(name)).map((name) => [name, { optional: true }]),
    );
    expect(peerDependenciesMeta).toEqual(optional);
  });
});

/* Both module formats share this data, which gets its imports passed and loads no classes. */
describe('dist/data', () => {
  it('imports no module', async () => {
    const folder = await mkdtemp(`${tmpdir()}/nestjs-snowflake-data-`);
    const files = await unpack(await packedLibrary(), `${folder}/library`);
    await rm(folder, { recursive: true });
    const shared = [...files].filter(([path]) => path.startsWith('dist/data/'));
    const asking = shared.filter(([, text]) => /\brequire\(|\bimport\b[ ({]/.test(text));
    expect(shared.map(([path]) => path)).toEqual(
      expect.arrayContaining(['dist/data/etcd.cjs', 'dist/data/testing.cjs']),
    );
    expect(asking.map(([path]) => path)).toEqual([]);
  });
});

/** The folder with the ES modules before minification. */
const readableModules = async (): Promise<string> =>
  join(dirname(await packedLibrary()), 'readable');

/* Nest injects by class, so a module format has one copy of each, whichever entries are loaded. */
describe('an injectable class', () => {
  it('is in only one module', async () => {
    const folder = await readableModules();
    const paths = (await readdir(folder, { recursive: true })).filter((one) => one.endsWith('.js'));
    const classesIn = (path: string): string[] => {
      const found = readFileSync(join(folder, path), 'utf8').matchAll(/\b([A-Z]\w*) = class\b/g);
      return [...new Set(Array.from(found, ([, name]) => name!))];
    };
    const classes = paths.flatMap(classesIn);
    expect(classes).toEqual(expect.arrayContaining(['IdMaker', 'LockModule', 'SegmentsModule']));
    expect(classes.filter((name, at) => classes.indexOf(name) < at)).toEqual([]);
  });
});

/* `npm run chaos -- --break` removes a rule from the packed code, which has to contain it. */
describe('the rules that the chaos test removes', () => {
  let dist: string;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(`${tmpdir()}/nestjs-snowflake-rules-`);
    await unpack(await packedLibrary(), `${folder}/library`);
    dist = `${folder}/library/dist`;
    await cp(await readableModules(), `${dist}/esm`, { recursive: true });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test.each(RULES)('are in the package: $name', async (rule) => {
    const broken = `${folder}/${rule.name}`;
    await cp(dist, broken, { recursive: true });
    expect(() => takeOut(rule, broken)).not.toThrow();
  });
});

/*
 * A user who follows the README installs without a warning: every locked package runs on the lowest
 * Node that the README names, and on the Node of .ci/run.
 */
const { satisfies } = createRequire(import.meta.url)('semver') as {
  satisfies: (version: string, range: string) => boolean;
};

interface Locked {
  readonly version?: string;
  readonly engines?: { readonly node?: string };
}

function unsupported(node: string, packages: Readonly<Record<string, Locked>>): string[] {
  return Object.entries(packages)
    .filter(([path, { engines }]) => path !== '' && !satisfies(node, engines?.node ?? '*'))
    .map(([path, { version, engines }]) => `${path}@${version} wants Node ${engines?.node}`);
}

describe('the locked packages', () => {
  const { packages } = JSON.parse(textOf('package-lock.json')) as {
    packages: Record<string, Locked>;
  };
  const named = /Node (\d+\.\d+) or later/.exec(textOf('README.md'))![1]!;

  test.each([`${named}.0`, '20.20.2', '22.23.3', '24.21.0', '26.10.0'])(
    'all run on Node %s',
    (node) => {
      expect(unsupported(node, packages)).toEqual([]);
    },
  );

  it('are reported if they need a newer Node', () => {
    const newer = { version: '12.0.6', engines: { node: '^22.22.3 || >=26.0.0' } };
    const found = unsupported('20.20.2', { 'node_modules/a': newer, 'node_modules/b': {} });
    expect(found).toEqual(['node_modules/a@12.0.6 wants Node ^22.22.3 || >=26.0.0']);
  });
});

/*
 * How a release is made, and who can change it: the checks of OpenSSF Scorecard that files can
 * fulfill (https://github.com/ossf/scorecard/blob/main/docs/checks.md).
 */
const WORKFLOWS = ['ci.yml', 'release.yml'].map((name) => `.github/workflows/${name}`);

/** The faults of a workflow that runs changeable code or has unnecessary rights. */
function workflowFaults(text: string): string[] {
  const used = [...text.matchAll(/uses: (\S+)/g)].map(([, action]) => action!);
  const unpinned = used.filter((action) => !/^[\w./-]+@[0-9a-f]{40}$/.test(action));
  const before = text.slice(0, text.indexOf('\njobs:'));
  const trusted = text.split(/\n {2}(?=\w+:\n)/).filter((job) => job.includes('id-token: write'));
  const isLoose = trusted.some((job) => /npm (ci|install|run|test|pack)|\.ci\/run/.test(job));
  const shown = [...text.matchAll(/run:.*\$\{\{ *(github\.(?:event|head)\S*)/g)];
  return [
    ...unpinned.map((action) => `${action} is not pinned to a commit`),
    ...(/\npermissions:\n {2}contents: read\n?$/.test(before) ? [] : ['may write by default']),
    ...(/pull_request_target|workflow_run/.test(text) ? ['runs what strangers send'] : []),
    ...shown.map(([, value]) => `runs ${value}, which strangers write`),
    ...(isLoose ? ['runs what it installs where npm trusts it'] : []),
    ...(/secrets\.|_TOKEN: [^$]/.test(text) ? ['holds a secret'] : []),
  ];
}

describe('the supply chain', () => {
  test.each(WORKFLOWS)('has a workflow %s that runs no code of strangers', (path) => {
    expect(workflowFaults(textOf(path))).toEqual([]);
  });

  it('is reported if it is open', () => {
    const open = [
      'on: pull_request_target',
      'jobs:',
      '  - uses: actions/checkout@v5',
      '  - run: echo ${{ github.event.issue.title }}',
      '    env: { T: ${{ secrets.T }} }',
      '  publish:',
      '    permissions: { id-token: write }',
      '    steps: [{ run: npm ci && npm publish }]',
    ].join('\n');
    expect(workflowFaults(open)).toEqual([
      'actions/checkout@v5 is not pinned to a commit',
      'may write by default',
      'runs what strangers send',
      'runs github.event.issue.title, which strangers write',
      'runs what it installs where npm trusts it',
      'holds a secret',
    ]);
  });

  it('has a release without a token, with provenance and a list of contents', () => {
    const text = textOf('.github/workflows/release.yml');
    for (const part of ['id-token: write', '--provenance', 'npm sbom', 'bash .ci/run']) {
      expect(text).toContain(part);
    }
    const { scripts, dependencies } = JSON.parse(textOf('package.json')) as Record<string, object>;
    expect(dependencies).toBeUndefined();
    // The installed package runs no script.
    expect(Object.keys(scripts!).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
  });

  it('has a package.json that npm would not correct on publishing', () => {
    const folder = mkdtempSync(join(tmpdir(), 'snowflake-corrected-'));
    const own = textOf('package.json');
    writeFileSync(join(folder, 'package.json'), own);
    execFileSync('npm', ['pkg', 'fix'], { cwd: folder, stdio: 'ignore' });
    const corrected = readFileSync(join(folder, 'package.json'), 'utf8');
    rmSync(folder, { recursive: true });
    expect(JSON.parse(corrected)).toEqual(JSON.parse(own));
  });

  it('is documented in the usual files', () => {
    expect(textOf('.github/dependabot.yml')).toMatch(/npm[^]*github-actions/);
    expect(textOf('SECURITY.md')).toContain('privately');
    expect(textOf('LICENSE')).toContain('MIT');
  });
});

/* Until a release is published, every page that shows the installation says so. */
it('every page that shows the installation agrees whether the package is on npm', () => {
  const pages = ['README.md', 'README.zh-CN.md', 'docs/start.md', 'docs/zh/start.md'];
  const others = ['site/home.md', 'site/zh/home.md', 'skills/nestjs-snowflake/SKILL.md'];
  const { version } = JSON.parse(textOf('package.json')) as { version: string };
  const says = [...pages, ...others].map((path) => {
    const text = textOf(path);
    expect(text).toContain('npm install nestjs-snowflake');
    return /([\d.]+\S*) (?:is not on npm yet|尚未发布到 npm)/.exec(text)?.[1];
  });
  expect([[version], [undefined]]).toContainEqual([...new Set(says)]);
});

/* The published declarations: everything that users can reach, with its documentation. */
const FILES: Record<string, string> = {
  'index.js':
    "export { made } from './made.js';\nexport type { Shown as Seen } from './shown.js';\n",
  'made.js': [
    '/** The file of what is made. */',
    "import { Injectable } from '@nestjs/common';",
    "import type { Unused, Used } from './used.js';",
    '/** Makes it. */',
    'export declare function made(of: Used): import("./far.js").Far;',
    '/** For its own room. */',
    'export declare function inside(of: Unused): Injectable;',
    'export {};',
    '',
  ].join('\n'),
  'used.js': '/** How. */\nexport interface Used {\n  a: number;\n}\nexport type Unused = 1;\n',
  'far.js': 'declare const far: unique symbol, near: 1;\nexport type Far = typeof far;\n',
  'shown.js': [
    '/** The file of what is shown. */',
    '/** What is shown. */',
    'export interface Shown {}',
    '',
  ].join('\n'),
};

const visible = visibleTypes(['index.js'], (path) => FILES[path] ?? '');

it('declarations contain the exports of an entry, and the types in their signatures', () => {
  expect(visible('index.js')).toBe(FILES['index.js']);
  expect(visible('made.js')).toBe(
    [
      "import type { Used } from './used.js';",
      '/** Makes it. */',
      'export declare function made(of: Used): import("./far.js").Far;',
      'export {};',
      '',
    ].join('\n'),
  );
  expect(visible('far.js')).toBe(FILES['far.js']);
});

it('declarations keep their documentation, but not the header of a file', () => {
  expect(visible('used.js')).toBe('/** How. */\nexport interface Used {\n  a: number;\n}\n');
  expect(visible('shown.js')).toBe('/** What is shown. */\nexport interface Shown {}\n');
});
