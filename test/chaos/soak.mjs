/**
 * The soak runs every feature on every store, in processes that live as long as it lasts. It cuts
 * their connections in turns, and another process comes and goes. The run must have no duplicate,
 * and memory and handles must stay flat.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'libsql';
import { createConnection } from 'mysql2/promise';
import pg from 'pg';
import { startEtcd } from '../../scripts/servers/start-etcd.mjs';
import { startMariadb } from '../../scripts/servers/start-mariadb.mjs';
import { startPostgres } from '../../scripts/servers/start-postgres.mjs';
import { randomOf } from './attack.mjs';
import { Proxy } from './proxy.mjs';
import { checkRuns } from './cron-judge.mjs';
import { checkFolder, checkHolds, eventsOf } from './report.mjs';
import { RedisNode } from './topologies.mjs';

/** The processes whose memory is measured. One more comes and goes. */
const LASTING_COUNT = 2;
/** The interval between the cuts of connections, and the length of a cut. */
const [CUT_EVERY_MS, CUT_MS] = [10_000, 700];
const GUEST_MS = 60_000;
/** Lazy starts, compilation and caches are over after this share of the time. */
const WARM_UP_SHARE = 0.25;

// Whether a figure grows.

/**
 * @typedef {object} Limit of noise: the larger of the two
 * @property {number} least
 * @property {number} share of the first value
 */
/** @type {Readonly<Record<'heap' | 'rss' | 'handles' | 'files', Limit>>} */
const LIMITS = {
  heap: { least: 2 ** 20, share: 0.02 },
  rss: { least: 12 * 2 ** 20, share: 0.06 },
  handles: { least: 2, share: 0.05 },
  files: { least: 2, share: 0.05 },
};

/**
 * The growth between the first and the last sample, by the slope of Theil and Sen. It is the median
 * slope between any two samples, which outliers do not change.
 * @param {readonly { atMs: number, value: number }[]} samples
 */
export function growthOf(samples) {
  const slopes = samples.flatMap(({ atMs, value }, at) =>
    samples.slice(at + 1).map((later) => (later.value - value) / (later.atMs - atMs)),
  );
  slopes.sort((a, b) => a - b);
  const slope = slopes[Math.floor(slopes.length / 2)] ?? 0;
  return slope * ((samples.at(-1)?.atMs ?? 0) - (samples[0]?.atMs ?? 0));
}

const medianOf = (/** @type {readonly number[]} */ values) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/**
 * The growth of each figure of a process after its warm-up.
 * @param {readonly Record<'atMs' | keyof typeof LIMITS, number>[]} all in order of time
 */
export function growthsIn(all) {
  const [first, last] = [all[0]?.atMs ?? 0, all.at(-1)?.atMs ?? 0];
  const samples = all.filter(({ atMs }) => atMs - first >= (last - first) * WARM_UP_SHARE);
  return Object.entries(LIMITS).map(([name, { least, share }]) => {
    const values = samples.map((sample) => sample[/** @type {keyof typeof LIMITS} */ (name)]);
    const growth = growthOf(samples.map(({ atMs }, at) => ({ atMs, value: values[at] ?? 0 })));
    const from = medianOf(values.slice(0, Math.ceil(values.length / 4)));
    const to = medianOf(values.slice(-Math.ceil(values.length / 4)));
    const limit = Math.max(least, share * from);
    return { name, from, to, growth, limit, isFlat: growth <= limit, count: samples.length };
  });
}

// The stores, and the processes.

const ofSql = ({ registryTable }, /** @type {string} */ dialect) => [registryTable(dialect)];

/** Starts each store with its tables, and with a proxy if it is on a network. */
async function startStores(/** @type {string} */ folder, tables) {
  const node = new RedisNode(join(folder, 'redis'));
  await node.start();
  const [postgres, mariadb, etcd] = await Promise.all([
    startPostgres(),
    startMariadb(['--innodb-flush-log-at-trx-commit=1']),
    startEtcd(),
  ]);
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  for (const text of ofSql(tables, 'postgres')) await client.query(text);
  await client.end();
  const connection = await createConnection(mariadb.url);
  for (const text of ofSql(tables, 'mysql')) await connection.query(text);
  connection.destroy();
  for (const kind of ['ids', 'segments', 'locks', 'cron']) {
    const database = new Database(join(folder, `soak-${kind}.db`));
    for (const text of ofSql(tables, 'sqlite')) database.exec(text);
    database.close();
  }
  /** @type {Record<string, string>} */
  const urls = {
    redis: `redis://127.0.0.1:${node.port}?namespace=soak`,
    postgres: `${postgres.url}?namespace=soak&replicated=false`,
    mariadb: `${mariadb.url}?namespace=soak&replicated=false`,
    etcd: `${etcd.url}?namespace=soak`,
    sqlite: `sqlite:${join(folder, 'soak-KIND.db')}?namespace=soak`,
    file: `file:${join(folder, 'registry')}?namespace=soak`,
  };
  const proxies = [];
  for (const [name, { port }] of Object.entries({ redis: node, postgres, mariadb, etcd })) {
    const proxy = new Proxy();
    await proxy.listen(() => port);
    urls[name] = String(urls[name]).replace(`:${port}`, `:${proxy.port}`);
    proxies.push(proxy);
  }
  const stop = async () => {
    for (const proxy of proxies) proxy.close();
    await node.kill();
    await Promise.all([postgres, mariadb, etcd].map((server) => server.stop()));
  };
  return { urls, proxies, stop };
}

/** @typedef {import('node:child_process').ChildProcess} Running */

class SoakProcesses {
  /** @type {Set<Running>} */
  running = new Set();

  /** @param {{ app: string, files: string, urls: object }} parts */
  constructor(parts) {
    this.parts = parts;
  }

  /** Waits until it generates everything. A store that is cut off for too long may refuse it. */
  async start(/** @type {string} */ name) {
    const { app, files, urls } = this.parts;
    const log = openSync(join(files, `${name}.log`), 'a');
    const own = { SOAK_STORES: JSON.stringify(urls), SOAK_FOLDER: files, SOAK_NAME: name };
    const child = fork(join(app, 'soak-worker.mjs'), {
      execArgv: ['--expose-gc'],
      stdio: ['ignore', log, log, 'ipc'],
      env: { ...process.env, ...own },
    });
    closeSync(log);
    this.running.add(child);
    child.once('exit', () => this.running.delete(child));
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`${name} ended: see ${files}/${name}.log`);
    return child;
  }

  async end(/** @type {Running} */ child) {
    if (!this.running.has(child)) return;
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
    await once(child, 'exit');
    clearTimeout(timer);
  }

  kill() {
    for (const child of this.running) child.kill('SIGKILL');
  }
}

/** Cuts one connection after the other. @returns the count of cuts */
async function cut(/** @type {readonly Proxy[]} */ proxies, { random, isOver }) {
  let count = 0;
  for (; !isOver(); count++) {
    await sleep(CUT_EVERY_MS);
    const proxy = /** @type {Proxy} */ (proxies[Math.floor(random() * proxies.length)]);
    proxy.set(random() < 0.5 ? 'cut' : 'half-open');
    await sleep(CUT_MS);
    proxy.set('open');
  }
  return count;
}

/** A process comes and goes, then the next. @param {SoakProcesses} processes */
async function guests(processes, { leftMs, isOver }) {
  const count = { guestCount: 0, refusedCount: 0 };
  while (!isOver()) {
    const guest = await processes.start(`guest-${++count.guestCount}`).catch(() => undefined);
    if (guest === undefined) {
      count.refusedCount++;
      continue;
    }
    await sleep(Math.max(0, Math.min(GUEST_MS, leftMs())));
    await processes.end(guest);
  }
  return count;
}

/**
 * @param {{ folder: string, app: string, minutes: number, seed: string }} parts
 * @returns the output of each part, and the growth of each process
 */
export async function runSoak({ folder, app, minutes, seed }) {
  const files = join(folder, 'processes');
  mkdirSync(files, { recursive: true });
  const sql = 'node_modules/nestjs-snowflake/dist/esm/stores/sql/index.js';
  const { urls, proxies, stop } = await startStores(folder, await import(join(app, sql)));
  const processes = new SoakProcesses({ app, files, urls });
  try {
    const lasting = [];
    for (let at = 1; at <= LASTING_COUNT; at++)
      lasting.push(await processes.start(`lasting-${at}`));
    const endMs = performance.now() + minutes * 60_000;
    const leftMs = () => endMs - performance.now();
    const time = { random: randomOf(seed), leftMs, isOver: () => leftMs() < 0 };
    const [counts, cutCount] = await Promise.all([guests(processes, time), cut(proxies, time)]);
    const { running } = processes;
    if (!lasting.every((child) => running.has(child))) throw new Error(`One ended: see ${files}`);
    await Promise.all([...running].map((child) => processes.end(child)));
    return { minutes, cutCount, ...counts, ...foundIn(files) };
  } finally {
    processes.kill();
    await stop();
  }
}

// The records of the processes.

const CHECKS = {
  ids: (/** @type {string} */ folder) => checkFolder(folder, 3),
  segments: (/** @type {string} */ folder) => checkFolder(folder, 0),
  'redis-ids': (/** @type {string} */ folder) => checkFolder(folder, 0),
  locks: checkHolds,
  cron: checkRuns,
};
/** Each part must generate this many in a minute, or the soak proves nothing. */
const LEAST_A_MINUTE = { ids: 2000, segments: 2000, 'redis-ids': 2000, locks: 20, cron: 20 };

function foundIn(/** @type {string} */ files) {
  const names = readdirSync(files).filter((name) => name.includes(' '));
  const parts = names.toSorted().map((name) => {
    const [, kind] = /** @type {[string, keyof typeof CHECKS]} */ (name.split(' '));
    return { name, kind, ...CHECKS[kind](join(files, name)) };
  });
  const processes = readdirSync(join(files, 'samples'))
    .filter((name) => /^lasting.*events$/.test(name))
    .map((name) => ({
      name: name.replace('.events', ''),
      growths: growthsIn(eventsOf(join(files, 'samples', name))),
    }));
  return { parts, processes };
}

const figure = (/** @type {string} */ name, /** @type {number} */ value) =>
  name === 'heap' || name === 'rss'
    ? `${(value / 2 ** 20).toFixed(1)} MiB`
    : String(Math.round(value));

/** @param {Awaited<ReturnType<typeof runSoak>>} result */
export function soakText({ minutes, parts, processes, ...counts }) {
  const { cutCount, guestCount, refusedCount } = counts;
  const made = parts.map(
    ({ name, idCount, duplicateCount, disorderCount, kinds }) =>
      `  ${name.padEnd(20)} ${idCount.toLocaleString('en-US').padStart(12)}  twice ` +
      `${duplicateCount}, back ${disorderCount}` +
      (kinds === undefined ? '' : `; ${kinds.permitCount} permits, ${kinds.severalCount} several`),
  );
  const grown = processes.flatMap(({ name, growths }) =>
    growths.map(({ name: what, from, to, growth, limit, isFlat, count }) => {
      const [a, b, c, d] = [from, to, growth, limit].map((value) => figure(what, value));
      const said = `${count} samples: ${isFlat ? 'flat' : 'GROWS'}`;
      return `  ${name} ${what.padEnd(8)} ${a} to ${b}, slope ${c} of at most ${d}, ${said}`;
    }),
  );
  const guests = `${guestCount} guests, of whom ${refusedCount} could not start`;
  const did = `${cutCount} times cut or half open, ${guests}`;
  return [`\nsoak, ${minutes} min: ${did}`, ...made, ...grown].join('\n');
}

/** @param {Awaited<ReturnType<typeof runSoak>>} result @param {boolean} isControl */
export function soakVerdict({ minutes, parts, processes }, isControl) {
  const grown = processes.flatMap(({ name, growths }) =>
    growths.filter(({ isFlat }) => !isFlat).map((it) => `${it.name} of ${name} grows`),
  );
  if (isControl) {
    return grown.length > 0
      ? { isGood: true, text: `\nWhat was kept for ever was seen: ${grown.join(', ')}.` }
      : { isGood: false, text: '\nWhat was kept for ever was NOT seen: the check is blind.' };
  }
  const wrong = [
    ...parts
      .filter(({ duplicateCount, disorderCount }) => duplicateCount + disorderCount > 0)
      .map((it) => `${it.name}: ${it.duplicateCount} DUPLICATES, ${it.disorderCount} OUT OF ORDER`),
    ...grown,
    ...parts
      .filter(({ kind, idCount }) => idCount < LEAST_A_MINUTE[kind] * minutes)
      .map(({ name, idCount }) => `${name}: only ${idCount} were made, which proves little`),
  ];
  return wrong.length > 0
    ? { isGood: false, text: `\n${wrong.join('\n')}` }
    : { isGood: true, text: '\nNothing was twice, and memory and handles were flat.' };
}
