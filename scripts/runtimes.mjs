// The packed library on every Node that it supports, and its core on workerd, each brought by npm:
// `npm run runtimes`, or `npm run runtimes -- 20.19.0 workerd` for some. What runs is what
// test/package/runtimes.spec.ts runs on Bun and Deno. Exits with 1 where one answers otherwise.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import ts from 'typescript';
import { unpackLibrary } from '../test/chaos/rules.mjs';
import { freePort } from './servers/ports.mjs';
import { startRedis } from './servers/start-redis.mjs';

/** The lowest of 20, and the newest of the others, as the `node` of npm had them. */
export const NODES = ['20.19.0', '22.23.3', '24.21.0', '26.10.0'];
export const WORKERD = '1.20261117.1';

/** What each program says. */
export const SAID = {
  core: { distinct: 2000, rises: true, workerId: 7, isReadBack: true },
  lease: { workerIdCount: 2, isWorker: true, state: 'active', distinct: 2000 },
  threads: { distinct: 5000, workerIdCount: 2 },
  app: { isNew: true, isWorker: true },
};
/** One that serves until it is told to end. */
const SERVES = 'app';

const PROGRAMS = new URL('../test/package/consumers/runtimes/src/', import.meta.url);
const INSTALLED = fileURLToPath(new URL('../.data/runtimes/', import.meta.url));
const LATE_MS = 120_000;

/**
 * Installs a package of npm once.
 *
 * @returns {string} the path of its program, or of another file in it
 */
export function installed(
  /** @type {string} */ name,
  /** @type {string} */ version,
  file = join('bin', name),
) {
  const folder = join(INSTALLED, `${name}-${version}`);
  const found = join(folder, 'node_modules', name, file);
  if (!existsSync(found)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{ "private": true }');
    const args = ['install', '--no-save', '--no-audit', '--no-fund', `${name}@${version}`];
    const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error(`npm could not install ${name}@${version}`);
  }
  return found;
}

// On Node.

/** As JavaScript, since Node 20 reads no types. */
function compileInto(/** @type {string} */ app) {
  const compilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ES2022,
    experimentalDecorators: true,
    emitDecoratorMetadata: true,
  };
  for (const name of Object.keys(SAID)) {
    const text = readFileSync(new URL(`${name}.ts`, PROGRAMS), 'utf8');
    const { outputText } = ts.transpileModule(text, { compilerOptions });
    writeFileSync(join(app, `${name}.mjs`), outputText);
  }
}

/** @returns {Promise<string>} the last line that it prints, or how it ended */
async function answerOf(program, /** @type {string} */ name, app, /** @type {string} */ support) {
  const env = { ...process.env, SNOWFLAKE_SUPPORT: support };
  const stdio = /** @type {const} */ (['ignore', 'pipe', 'pipe']);
  const child = spawn(program, [`${name}.mjs`], { cwd: app, env, stdio, timeout: LATE_MS });
  let said = '';
  let complained = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (complained += text));
  child.stdout.setEncoding('utf8').on('data', (text) => {
    said += text;
    if (name === SERVES && said.endsWith('}\n')) child.kill('SIGTERM');
  });
  const [code, signal] = await once(child, 'close');
  // Nest ends itself by the signal that it was told to end by.
  const isWell = code === 0 || (name === SERVES && signal === 'SIGTERM');
  return isWell ? (said.trim().split('\n').at(-1) ?? '') : `${signal ?? code}: ${complained}`;
}

/** @returns {Promise<string[]>} what was said otherwise */
async function faultsOnNode(/** @type {string} */ version, /** @type {string} */ app, port) {
  const program = installed('node', version);
  const faults = [];
  for (const [name, expected] of Object.entries(SAID)) {
    const support = `redis://127.0.0.1:${port}?namespace=${name}-${version}`;
    const answer = await answerOf(program, name, app, support);
    if (answer !== JSON.stringify(expected)) faults.push(`${name}: ${answer}`);
  }
  return faults;
}

// On workerd: in a request, since its clock stands at 0 outside of one.

const WORKER = `export default {
  async fetch() {
    const said = [];
    console.log = (text) => said.push(text);
    await import('./core.mjs');
    return new Response(said.at(-1));
  },
};`;

const configOf = (/** @type {number} */ port) => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .ids)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const ids :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
);
`;

/** @returns {Promise<string[]>} */
async function faultsOnWorkerd(/** @type {string} */ app) {
  const program = installed('workerd', WORKERD);
  await build({
    bundle: true,
    format: 'esm',
    stdin: { contents: WORKER, resolveDir: app },
    outfile: join(app, 'worker.js'),
  });
  const port = await freePort();
  writeFileSync(join(app, 'config.capnp'), configOf(port));
  const stdio = /** @type {const} */ (['ignore', 2, 2]);
  const child = spawn(program, ['serve', 'config.capnp'], { cwd: app, stdio });
  try {
    const answer = await asked(`http://127.0.0.1:${port}/`);
    return answer === JSON.stringify(SAID.core) ? [] : [`core: ${answer}`];
  } finally {
    child.kill();
  }
}

/** Once somebody answers. */
async function asked(/** @type {string} */ url) {
  for (const endMs = performance.now() + LATE_MS; ; await sleep(50)) {
    try {
      const response = await fetch(url);
      return await response.text();
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
  }
}

async function main(/** @type {readonly string[]} */ asked) {
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-runtimes-'));
  const redis = await startRedis();
  try {
    const app = await unpackLibrary(folder, undefined);
    compileInto(app);
    let faultCount = 0;
    for (const name of asked) {
      const isNode = name !== 'workerd';
      const faults = isNode
        ? await faultsOnNode(name, app, redis.port)
        : await faultsOnWorkerd(app);
      faultCount += faults.length;
      const ran = isNode ? Object.keys(SAID).join(', ') : 'core';
      const title = isNode ? `Node ${name}` : `workerd ${WORKERD}`;
      console.log(`${title}: ${faults.length === 0 ? `${ran}: as expected` : faults.join('\n')}`);
    }
    process.exitCode = faultCount === 0 ? 0 : 1;
  } finally {
    await redis.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const some = process.argv.slice(2);
  await main(some.length > 0 ? some : [...NODES, 'workerd']);
}
