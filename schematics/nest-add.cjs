// @ts-check
'use strict';
// What `nest add nestjs-snowflake` does: the modules, the shutdown hooks, the packages and the
// environment variable of an application, each only where it is missing. In one file, in the order
// in which it is done.
//
// Guarantee: a second run changes nothing; a file of another shape stays as it is, and a message
// says what to add by hand. It imports nothing of the schematics packages, which run it.
const { createRequire } = require('node:module');
const nodePath = require('node:path');
const { calledWith, startOf, withModules, withShutdownHooks } = require('./edits.cjs');
const {
  isDatabase,
  packagesFor,
  redisClientOf,
  variableIn,
  withEnvFile,
  withPackages,
  withVariable,
} = require('./settings.cjs');

/**
 * @typedef {object} Tree of the application's files, by paths from its root
 * @property {(path: string) => Buffer | null} read
 * @property {(path: string, text: string) => void} overwrite
 * @property {(path: string, text: string) => void} create
 * @property {(path: string) => { visit: (see: (path: string) => void) => void }} getDir
 *
 * @typedef {object} Context
 * @property {{ info: (text: string) => void, warn: (text: string) => void }} logger
 * @property {(task: { toConfiguration: () => object }) => void} addTask
 *
 * @typedef {object} Options
 * @property {string} [sourceRoot] by the Nest CLI: `src`, or `apps/shop/src` in a monorepo
 * @property {string} [support] the URL of the store, for `.env`
 * @property {boolean} [skipInstall]
 */

/** Others come from the command line of the Nest CLI, which passes on its own. */
const OPTIONS = ['sourceRoot', 'support', 'skipInstall', 'project'];

/** @returns {(tree: Tree, context: Context) => Tree} */
function nestAdd(/** @type {Options} */ options) {
  const unknown = Object.keys(options).filter((name) => !OPTIONS.includes(name));
  if (unknown.length > 0) {
    throw new Error(`Unknown options: ${unknown.join(', ')}. Known: --support, --skip-install.`);
  }
  return (tree, context) => {
    const app = new Application(tree, process.cwd(), options.sourceRoot ?? 'src');
    const support = options.support ?? `redis://localhost:6379?namespace=${app.name}`;
    const modulesByHand = app.addModules();
    const byHand = [...modulesByHand, ...app.addShutdownHooks()];
    if (modulesByHand.length > 0 || app.reads('SNOWFLAKE_SUPPORT')) app.addVariable(support);
    const isChanged = app.addPackages(support);
    if (isChanged && options.skipInstall !== true) context.addTask(installTask(app.lockFiles));
    for (const message of byHand) context.logger.warn(`\nBy hand: ${message}\n`);
    if (app.isChanged) context.logger.info(app.clientText + nextSteps(support));
    return tree;
  };
}

const NEXT =
  '\nNext: set SNOWFLAKE_SUPPORT in .env to your store, and in production in the environment.\n' +
  'Tests that start the application need it too: docs/guides/testing.md of nestjs-snowflake.\n';
const TABLE =
  'A database needs a table before the first start; for the SQL of a migration add --dry:\n' +
  '  npx snowflake registry create --support <url>\n';

function nextSteps(/** @type {string} */ support) {
  return isDatabase(support) ? NEXT + TABLE : NEXT;
}

/** Which package reaches Redis, if it was there before. */
function clientText(
  /** @type {string | undefined} */ used,
  /** @type {readonly string[]} */ tooOld,
) {
  if (used !== undefined) return `\nRedis is reached by ${used}, which package.json has.\n`;
  if (tooOld.length === 0) return '';
  return `\nioredis is added: ${tooOld.join(', ')} of package.json is too old to be used.\n`;
}

/** The task of the schematics packages that installs what package.json names, by its shape. */
function installTask(/** @type {readonly string[]} */ lockFiles) {
  // The Schematics CLI finds npm, yarn and pnpm for itself.
  const isBun = lockFiles.some((name) => /^bun\.lockb?$/.test(name));
  const options = { command: 'install', quiet: true, hideOutput: true, allowScripts: true };
  const manager = isBun ? { packageManager: 'bun' } : {};
  return { toConfiguration: () => ({ name: 'node-package', options: { ...options, ...manager } }) };
}

/** Tests, declarations, packages. */
const NOT_RUN = /\.(e2e-)?spec\.ts$|\.test\.ts$|\.d\.[cm]?ts$|\/node_modules\//;

class Application {
  isChanged = false;
  clientText = '';

  constructor(
    /** @type {Tree} */ tree,
    /** @type {string} */ root,
    /** @type {string} */ sourceRoot,
  ) {
    this.tree = tree;
    this.root = root;
    this.sourceRoot = sourceRoot;
    this.manifest = JSON.parse(this.textOf('package.json') ?? '{}');
    this.major = nestMajor(root, this.manifest);
    this.ts = compilerOf(root);
  }

  /** For the namespace in a URL: of `@acme/shop` it is `shop`. */
  get name() {
    const name = String(this.manifest.name ?? 'app');
    return name.replace(/^@[^/]*\//, '').replaceAll(/[^a-zA-Z0-9-]+/g, '-');
  }

  get lockFiles() {
    return ['bun.lock', 'bun.lockb'].filter((path) => this.textOf(path) !== undefined);
  }

  /** @returns {string[]} what is to be done by hand */
  addModules() {
    const { ts } = this;
    if (ts === undefined) return [`${NO_COMPILER}\n${MODULES}`];
    const isThere = (/** @type {string} */ name) => this.calls(name, /^forRoot/);
    const missing = {
      schedule: !isThere('ScheduleModule'),
      snowflake: !isThere('SnowflakeModule'),
    };
    if (!missing.schedule && !missing.snowflake) return [];
    const path = this.rootModule(ts);
    const text = this.textOf(path);
    if (text === undefined) return [`${path} was not found. In the root module:\n${MODULES}`];
    const edited = withModules(ts, text, missing);
    if (typeof edited !== 'string') return [`${path}: ${edited.reason}\n${MODULES}`];
    this.write(path, edited);
    return [];
  }

  /** The file of the class that main.ts starts; in a monorepo it may be `admin.module.ts`. */
  rootModule(/** @type {typeof import('typescript')} */ ts) {
    const main = this.textOf(this.main);
    const from = main === undefined ? undefined : startOf(ts, main)?.moduleFile;
    return nodePath.posix.join(this.sourceRoot, from ?? 'app.module.ts');
  }

  get main() {
    return nodePath.posix.join(this.sourceRoot, 'main.ts');
  }

  /** @returns {string[]} what is to be done by hand */
  addShutdownHooks() {
    if (this.reads('enableShutdownHooks')) return [];
    const text = this.textOf(this.main);
    const edited =
      text === undefined || this.ts === undefined ? undefined : withShutdownHooks(this.ts, text);
    if (edited === undefined) return [`${this.main}: before \`listen\`\n${HOOKS}`];
    this.write(this.main, edited);
    return [];
  }

  /** In .env, which `nest start` is told to read, and without a password in .env.example. */
  addVariable(/** @type {string} */ support) {
    const written = (/** @type {string} */ path, /** @type {string} */ url) =>
      this.write(path, withVariable(this.textOf(path) ?? '', 'SNOWFLAKE_SUPPORT', url));
    written('.env', support);
    written('.env.example', support.replace(/\/\/[^/?#]*@/, '//'));
    const manifest = this.textOf('package.json');
    if (manifest !== undefined) this.write('package.json', withEnvFile(manifest));
  }

  addPackages(/** @type {string} */ support) {
    const text = this.textOf('package.json');
    if (text === undefined) return false;
    const url = variableIn(this.textOf('.env'), 'SNOWFLAKE_SUPPORT') ?? support;
    // What only tests have is not there in production.
    const { dependencies, optionalDependencies } = this.manifest;
    const ranges = { ...optionalDependencies, ...dependencies };
    const { used, tooOld } = redisClientOf(url, (name) =>
      name in ranges ? majorOf(this.root, name, ranges[name]) : undefined,
    );
    this.clientText = clientText(used, tooOld);
    const packages = packagesFor(this.major, url, used !== undefined);
    return this.write('package.json', withPackages(text, packages));
  }

  /** Whether a source of the application names this. */
  reads(/** @type {string} */ word) {
    return this.sources().some(([, text]) => text.includes(word));
  }

  /** Whether a source calls a method of this class. */
  calls(/** @type {string} */ name, /** @type {RegExp} */ method) {
    const { ts } = this;
    if (ts === undefined) return false;
    const sources = this.sources().filter(([, text]) => text.includes(name));
    return sources.some(([, text]) => calledWith(ts, text, name, method));
  }

  /** Of the application and of the libraries of its monorepo, without tests. */
  sources() {
    const folders = [this.sourceRoot, ...libraryFolders(this.textOf('nest-cli.json'))];
    /** @type {[path: string, text: string][]} */
    const found = [];
    for (const folder of folders) {
      this.tree.getDir(folder).visit((path) => {
        const isSource = /\.[cm]?ts$/.test(path) && !NOT_RUN.test(path);
        if (isSource) found.push([path, this.textOf(path) ?? '']);
      });
    }
    return found;
  }

  /** @returns {string | undefined} */
  textOf(/** @type {string} */ path) {
    return this.tree.read(path)?.toString('utf8');
  }

  /** @returns {boolean} whether it was another text */
  write(/** @type {string} */ path, /** @type {string} */ text) {
    const before = this.textOf(path);
    if (before === text) return false;
    if (before === undefined) this.tree.create(path, text);
    else this.tree.overwrite(path, text);
    this.isChanged = true;
    return true;
  }
}

const NO_COMPILER =
  'The application has no `typescript` whose API could read it. In the root module:';
const MODULES = [
  "  import { ScheduleModule } from '@nestjs/schedule';",
  "  import { SnowflakeModule } from 'nestjs-snowflake';",
  '  // in `imports` of @Module; ScheduleModule.forRoot() only once in the whole application',
  '  ScheduleModule.forRoot(),',
  '  SnowflakeModule.forRootAsync({',
  '    useFactory: () => ({ support: process.env.SNOWFLAKE_SUPPORT }),',
  '  }),',
].join('\n');
const HOOKS = '  app.enableShutdownHooks();';

/**
 * The application's own, as every application in TypeScript has it. TypeScript 7 has no API.
 * @returns {typeof import('typescript') | undefined}
 */
function compilerOf(/** @type {string} */ root) {
  try {
    const ts = createRequire(nodePath.join(root, 'package.json'))('typescript');
    return typeof ts.createSourceFile === 'function' ? ts : undefined;
  } catch {
    // Not installed: an application in JavaScript.
    return undefined;
  }
}

function nestMajor(/** @type {string} */ root, /** @type {Record<string, any>} */ manifest) {
  const range = String(manifest.dependencies?.['@nestjs/core'] ?? '');
  const major = majorOf(root, '@nestjs/core', range);
  if (major === 11 || major === 12) return major;
  throw new Error(`nestjs-snowflake needs Nest 11 or 12; the application has ${range || 'none'}.`);
}

/**
 * Of the version that is installed, else of the one that package.json asks for.
 * @returns {number} NaN if that is any
 */
function majorOf(
  /** @type {string} */ root,
  /** @type {string} */ name,
  /** @type {string} */ range,
) {
  return Number(installedMajor(root, name) ?? /\d+/.exec(range)?.[0]);
}

/** @returns {string | undefined} */
function installedMajor(/** @type {string} */ root, /** @type {string} */ name) {
  try {
    const require = createRequire(nodePath.join(root, 'package.json'));
    return require(`${name}/package.json`).version.split('.')[0];
  } catch {
    // What package.json asks for then counts.
    return undefined;
  }
}

/** @returns {string[]} */
function libraryFolders(/** @type {string | undefined} */ nestCli) {
  const projects = JSON.parse(nestCli ?? '{}').projects ?? {};
  const libraries = Object.values(projects).filter(({ type }) => type === 'library');
  return libraries.map(({ sourceRoot }) => sourceRoot).filter(Boolean);
}

module.exports = { nestAdd };
