// TypeORM's own functional tests, as they are and with ids of this library in place of its generated
// keys, on PostgreSQL:
//
//   node test/orm/typeorm-suite.mjs <clone of typeorm, packages installed> [part of a path]...
//
// Both copies run with the TypeORM of this project, so the clone should be of the same version; it is
// not changed. Reported is each case that passes as it is and fails with our ids. A test that expects
// the number 1 as a key, or sets one (ID_INVALID), cannot pass; a statement that the database refuses
// is looked at (docs/guides/typeorm.md, cascades).
import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync } from 'node:fs';
import { rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import pg from 'pg';
import ts from 'typescript';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { compiledLibrary } from '../support/builds.mjs';
import { ROOT } from '../support/made-once.mjs';

const COMPILER = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.CommonJS,
  esModuleInterop: true,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  useDefineForClassFields: false,
};

const GENERATED =
  /@PrimaryGeneratedColumn\(\s*(?:["']\w+["'])?\s*,?\s*(\{[^]*?\})?\s*\)(\s+(?:public |readonly )*\w+[!?]?: )(?:number|string|bigint)/g;

const library = join(await compiledLibrary(), 'dist', 'esm');

/** A generated key becomes ours, and its property a text. */
function withOurIds(/** @type {string} */ text) {
  const rewritten = text.replace(GENERATED, (_, options = '', property) => {
    const kept = options.replace(/\b(?:type|unsigned|zerofill): [^,}]+,?/g, '');
    return `@SnowflakeId(${kept})${property}string`;
  });
  if (rewritten === text) return text;
  return `import { SnowflakeId } from '${library}/orm/typeorm/index.js';\n${rewritten}`;
}

/** Hooks each DataSource, as Nest does with those of an application. */
const SETUP = `
  const { startSnowflake } = require('${library}/index.js');
  const { hookDataSource } = require('${library}/orm/typeorm/index.js');
  const { DataSource } = require('typeorm');
  const { initialize } = DataSource.prototype;
  DataSource.prototype.initialize = function () {
    return initialize.call(hookDataSource(this));
  };
  exports.mochaHooks = { beforeAll: () => startSnowflake({ support: 'static:1' }) };
`;

/** Compiles the tests into a folder in which they find TypeORM and a database. */
function copyTests(
  /** @type {string} */ clone,
  /** @type {string} */ folder,
  /** @type {(text: string) => string} */ rewrite,
) {
  for (const entry of readdirSync(join(clone, 'test'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const from = join(entry.parentPath, entry.name);
    const to = join(folder, from.slice(clone.length)).replace(/(?<!\.d)\.ts$/, '.js');
    mkdirSync(dirname(to), { recursive: true });
    if (!to.endsWith('.js') || from === to) cpSync(from, to);
    else {
      const text = rewrite(readFileSync(from, 'utf8'));
      writeFileSync(to, ts.transpileModule(text, { compilerOptions: COMPILER }).outputText);
    }
  }
  symlinkSync(join(ROOT, 'node_modules/typeorm'), join(folder, 'src'));
  mkdirSync(join(folder, 'node_modules'));
  for (const name of ['typeorm', 'reflect-metadata']) {
    symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  }
  writeFileSync(join(folder, 'setup.cjs'), SETUP);
}

/** @typedef {{ fullTitle: string, err: { message?: string } }} Case */

/** @returns {Promise<Map<string, string>>} what became of each case, '' if it passed */
function runFile(
  /** @type {string} */ clone,
  /** @type {string} */ folder,
  /** @type {string} */ path,
  /** @type {string[]} */ more,
) {
  const setup = join(folder, 'test/utils/test-setup.js');
  const files = existsSync(setup) ? ['--file', setup] : [];
  const args = [join(clone, 'node_modules/mocha/bin/mocha.js'), ...more, ...files];
  args.push('--reporter', 'json', '--exit', '--timeout', '60000', join(folder, path));
  const env = { ...process.env, NODE_PATH: join(clone, 'node_modules'), NODE_NO_WARNINGS: '1' };
  return new Promise((done) => {
    const options = { cwd: folder, env, maxBuffer: 2 ** 28 };
    execFile(process.execPath, args, options, (_, stdout, stderr) => {
      const at = stdout.indexOf('{\n  "stats"');
      const said = stderr.trim().split('\n').slice(0, 8).join(' ');
      if (at < 0) return done(new Map([['the file', said || 'no report']]));
      /** @type {{ tests: Case[], failures: Case[] }} */
      const { tests, failures } = JSON.parse(stdout.slice(at, stdout.lastIndexOf('}') + 1));
      // A hook that fails is no test.
      const all = [...tests, ...failures];
      done(new Map(all.map(({ fullTitle, err }) => [fullTitle, err.message ?? ''])));
    });
  });
}

const [given, ...parts] = process.argv.slice(2);
if (given === undefined) throw new Error('Name a clone of TypeORM in which `npm ci` has run.');
const clone = resolve(given);
const server = await startPostgres();
const base = mkdtempSync(join(tmpdir(), 'nestjs-snowflake-typeorm-suite-'));
try {
  const client = new pg.Client(server.url);
  await client.connect();
  for (const [name, rewrite] of Object.entries({ generated: String, snowflake: withOurIds })) {
    await client.query(`CREATE DATABASE ${name}`);
    copyTests(clone, join(base, name), rewrite);
    const { hostname: host, port, username } = new URL(server.url);
    const place = { host, port: Number(port), username, password: '', database: name };
    const config = [{ skip: false, name: 'postgres', type: 'postgres', ...place }];
    writeFileSync(join(base, name, 'ormconfig.json'), JSON.stringify(config));
  }
  await client.end();
  const functional = join(base, 'generated/test/functional');
  const paths = readdirSync(functional, { recursive: true, encoding: 'utf8' })
    .map((path) => `test/functional/${path}`)
    .filter((path) => path.endsWith('.test.js'))
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
    .toSorted();
  const counts = { files: paths.length, cases: 0, passed: 0, passedWithOurIds: 0 };
  for (const path of paths) {
    const [asIs, ours] = await Promise.all([
      runFile(clone, join(base, 'generated'), path, []),
      runFile(clone, join(base, 'snowflake'), path, [
        '--require',
        join(base, 'snowflake/setup.cjs'),
      ]),
    ]);
    for (const [title, fault] of asIs) {
      counts.cases++;
      if (fault !== '') {
        process.stdout.write(`fails as it is: ${path}: ${title}: ${fault.slice(0, 200)}\n`);
        continue;
      }
      counts.passed++;
      const found = ours.get(title) ?? [...ours.values()].find((one) => one !== '') ?? 'not run';
      if (found === '') counts.passedWithOurIds++;
      else process.stdout.write(`${path}: ${title}\n    ${found.slice(0, 300)}\n`);
    }
  }
  process.stdout.write(`${JSON.stringify(counts)}\n`);
} finally {
  await server.stop();
  rmSync(base, { recursive: true, force: true });
}
