// What the library weighs: in a download, in a bundle, in an import, in a start of Nest.
//
// Guarantee: sizes are those of what `npm pack` would publish, from the build that is there. Each
// start is a process of its own, and all kinds take turns, so that a slow minute falls on all of
// them alike; each start is compared with the first one of its own round.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { startRedis } from '../../scripts/servers/start-redis.mjs';
import { bold, column, median, spread, times, whole } from '../harness/figures.mjs';
import { inTurnsApart } from '../harness/turns.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const kilobytes = (/** @type {number} */ bytes) => whole(bytes / 1000);

// Sizes.

/** What npm would send, and how much of it is unpacked. */
function packed() {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = spawnSync('npm', args, { cwd: ROOT, encoding: 'utf8' });
  return JSON.parse(stdout)[0];
}

/** As a bundler for browsers makes it, of all or some names of `nestjs-snowflake/core`. */
async function bundled(/** @type {string} */ names) {
  const contents = `export ${names} from './dist/esm/core/index.js';`;
  const stdin = { contents, resolveDir: ROOT };
  const settings = /** @type {const} */ ({ bundle: true, format: 'esm', minify: true });
  const { outputFiles } = await build({ ...settings, stdin, write: false });
  return outputFiles[0].contents;
}

async function sizes() {
  const { size, unpackedSize, entryCount } = packed();
  const bundles = [
    ['`core` in a bundle, all of it', await bundled('*')],
    ['`core` in a bundle, `textForms` alone', await bundled('{ textForms }')],
  ];
  const rowOf = ([name, bytes]) => [
    name,
    kilobytes(bytes.length),
    kilobytes(gzipSync(bytes).length),
    '',
  ];
  const manifest = JSON.parse(readFileSync(`${ROOT}package.json`, 'utf8'));
  const dependencyCount = Object.keys(manifest.dependencies ?? {}).length;
  return [
    ['the tarball', kilobytes(unpackedSize), kilobytes(size), whole(entryCount)],
    [
      `node_modules, which gets ${dependencyCount} packages besides`,
      kilobytes(unpackedSize),
      '',
      whole(entryCount),
    ],
    ...bundles.map(rowOf),
  ];
}

const ofSizes = {
  title: 'What is downloaded and bundled',
  explanation:
    'Sizes in kB of 1000 bytes. The tarball has both forms of the modules and the documentation; ' +
    'node_modules gets the package alone, since it depends on none that an application of Nest ' +
    'has not. A bundle is made by esbuild for browsers, minified. Tests hold a ceiling of each ' +
    'of these sizes (test/package).',
  columns: ['what', 'kB', 'kB compressed', 'files'],
  run: sizes,
};

// Imports and starts.

/** As start.client.mjs knows them; the first is what the rest is compared with. */
const KINDS = {
  none: 'without the module',
  bare: 'without it, and without ScheduleModule',
  imported: 'without it, the root entry imported',
  static: 'with the module, a worker id of its own',
  folder: 'with the module, a folder',
  ioredis: 'without it, ioredis connected',
  redis: 'with the module, Redis',
};

/** From there on the files are warm, and the registries there, of which a new one is waited for. */
const WARM_UP_ROUNDS = 1;

async function starts(/** @type {import('../harness/turns.mjs').RunOptions} */ { rounds, log }) {
  const redis = await startRedis();
  const folder = mkdtempSync(join(tmpdir(), 'snowflake-weight-'));
  try {
    const file = new URL('start.client.mjs', import.meta.url);
    const cases = Object.keys(KINDS).map((kind) => ({ kind, port: redis.port, folder }));
    const apart = { file, nodeFlags: ['--expose-gc'], cases };
    const all = await inTurnsApart(apart, { rounds: rounds + WARM_UP_ROUNDS, log });
    const measured = [...all].map(([{ kind }, list]) => ({
      kind,
      list: list.slice(WARM_UP_ROUNDS),
    }));
    const base = measured[0].list;
    return measured.map(({ kind, list }) => rowOfStart(kind, list, base));
  } finally {
    rmSync(folder, { recursive: true });
    await redis.stop();
  }
}

function rowOfStart(kind, list, base) {
  const ratioOf = (field) =>
    times(median(list.map((row, round) => row[field] / base[round][field])), 1);
  const heap = (rows) => median(column(rows, 'heapBytes'));
  return [
    kind === 'none' ? bold(KINDS[kind]) : KINDS[kind],
    spread(column(list, 'importMs'), 0),
    spread(column(list, 'startMs'), 0),
    spread(column(list, 'allMs'), 0),
    ratioOf('allMs'),
    spread(column(list, 'wallMs'), 0),
    ratioOf('wallMs'),
    kilobytes(heap(list)),
    kind === 'none' ? '' : kilobytes(heap(list) - heap(base)),
    times(median(column(list, 'rssBytes')), median(column(base, 'rssBytes'))),
  ];
}

const ofStarts = {
  title: 'Import and start of Nest',
  explanation:
    'A process of its own for each: Nest with Express, ScheduleModule, which renewals run in, ' +
    'and one controller is imported and started until it listens. The root entry is imported ' +
    'after Nest, so that its own time is the difference to the first row. ' +
    'Times are those of the processor, Node included, and then those ' +
    'by the clock. Each start is compared with the first one of its round, and of these ' +
    'ratios the median is shown. The heap is what is left after a collection. The ' +
    'folder and Redis have a registry already: a new one is waited for once, about two seconds. ' +
    'With Redis a start loads ioredis and connects, which the row before it does without the ' +
    'module, and then asks.',
  columns: [
    'a start',
    'imports, ms',
    'start, ms',
    'both, ms',
    'times the first',
    'by the clock, ms',
    'times the first',
    'heap, kB',
    'more heap, kB',
    'memory, times the first',
  ],
  run: starts,
};

/** @type {import('../harness/turns.mjs').BenchGroup[]} */
export const groups = [ofSizes, ofStarts];
