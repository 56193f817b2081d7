/**
 * Packs the library with npm and unpacks it into a folder with the other packages of this project.
 * For a negative control it removes a rule from the modules before they are minified. The chaos
 * must then find errors.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync, writeFileSync, cpSync, mkdirSync, symlinkSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packedAt, packedLibrary } from '../support/builds.mjs';

// The shape of a rule that a control can remove.

/**
 * @typedef {{ in: 'lua' | 'code', says: string, insteadSays: string }} Edit of the built text
 * @typedef {'ids made twice' | 'two holders' | 'tokens that fell' |
 *   'processes that wait in vain' | 'memory that grows'} Shown
 * @typedef {{ name: string, edits: readonly Edit[], shows?: Shown }} Rule
 */

// The rules of counters.

/** @type {readonly Rule[]} */
const COUNTER_RULES = [
  {
    // Counters: ignores losses that another server or a process's answers show.
    name: 'counter-loss',
    edits: [
      { in: 'lua', says: 'if isOther then era = era + 1 end', insteadSays: '' },
      {
        in: 'lua',
        says: 'elseif isLess(row.next, have) then\n  era = era + 1\n',
        insteadSays: '',
      },
      { in: 'lua', says: 'if lastTime and seenEra > era then', insteadSays: 'if false then' },
      {
        in: 'code',
        says: 'if (era > header.era)',
        insteadSays: 'if (false)',
      },
      {
        in: 'code',
        says: 'isSame ? observed : inNextEra({ ...observed, server })',
        insteadSays: '({ ...observed, server })',
      },
      {
        in: 'code',
        says: 'have > row.next ? inNextEra(header) : header',
        insteadSays: 'header',
      },
    ],
  },
  {
    // Counters continue at their stored place after a loss, and not beyond the lost numbers.
    name: 'counter-gap',
    edits: [
      { in: 'lua', says: 'row.next = sum(row.next, row.margin)', insteadSays: '' },
      {
        in: 'code',
        says: 'lossCount > 1 ? 2n * margin : margin',
        insteadSays: '0n',
      },
    ],
  },
  {
    // Grants numbers behind a jump before the jump is durable. A second loss then repeats it.
    name: 'counter-wait',
    edits: [
      {
        in: 'lua',
        says: 'greatest(row.margin, margin), now + lossWindow',
        insteadSays: 'margin, 0',
      },
      {
        in: 'code',
        says: 'const readyAtMs = nowOf(header) + lossWindowMs',
        insteadSays: 'const readyAtMs = 0',
      },
    ],
  },
  {
    // Grants numbers that no file keeps.
    name: 'counter-file',
    edits: [
      {
        in: 'lua',
        says: "return { err = 'NOFILE the append-only file is off' }",
        insteadSays: 'doubt = nil',
      },
      { in: 'lua', says: 'atRiskMs = (age + 1) * 1000', insteadSays: 'atRiskMs = 0' },
    ],
  },
  {
    // An absent counter restarts by itself.
    name: 'counter-absent',
    edits: [
      {
        in: 'lua',
        says: "startAt == '' then return { 'absent' }",
        insteadSays: "startAt == '' then startAt = '1'",
      },
      {
        in: 'code',
        says: 'if (request.startAt === void 0)',
        insteadSays: 'if (false)',
      },
      {
        in: 'code',
        says: 'blankRow(formOf(request), request.startAt, era)',
        insteadSays: 'blankRow(formOf(request), request.startAt ?? 1n, era)',
      },
    ],
  },
];

// The rules of locks.

/** @type {readonly Rule[]} */
const LOCK_RULES = [
  {
    // Cron jobs: a process relies on its own runs, and ignores the record of the fleet.
    name: 'cron-record',
    edits: [
      {
        in: 'code',
        says: '#closed = new AbortController();',
        insteadSays: '#closed = new AbortController(); #ownMs;',
      },
      {
        in: 'code',
        says: 'const stored = recordIn(held.note);',
        insteadSays:
          'const note = recordIn(held.note); ' +
          'const stored = note && { ...note, settledMs: (this.#ownMs ??= note.settledMs) };',
      },
      {
        in: 'code',
        says: 'this.#settledMs = Math.max(this.#settledMs ?? 0, ended.settledMs);',
        insteadSays: 'this.#ownMs = tickMs;',
      },
    ],
  },
  {
    // Grants locks right after a loss, while the lost ones are still held.
    name: 'lock-quiet',
    shows: 'two holders',
    edits: [
      { in: 'lua', says: 'ready = math.max(ready, now + longest + lossWindow)', insteadSays: '' },
      {
        in: 'code',
        says: 'Math.max(header.readyAtMs, nowMs + header.longestMs + lossWindowMs)',
        insteadSays: '0',
      },
      { in: 'code', says: 'wait !== void 0 && (isMine || !isOfNow)', insteadSays: 'false' },
      {
        in: 'code',
        says: 'ttlMs > provenMs ? [wait, key, raise] : [wait, key]',
        insteadSays: '[key]',
      },
    ],
  },
  {
    // A holder trusts a single answer, however old.
    name: 'lock-deadline',
    shows: 'two holders',
    edits: [
      {
        in: 'code',
        says: 'Math.min(ttlMs - passed(), this.#allowedMs)',
        insteadSays: 'ttlMs',
      },
    ],
  },
  {
    // Tokens are a plain count, and restart after a loss of the last one.
    name: 'lock-token',
    shows: 'tokens that fell',
    edits: [
      {
        in: 'lua',
        says: "isLess(known, first) and first or sum(known, '1')",
        insteadSays: "sum(known, '1')",
      },
      {
        in: 'lua',
        says: "greatest(greatest(row and row.token or '0', forgotten), have)",
        insteadSays: "greatest(row and row.token or '0', have)",
      },
      { in: 'code', says: 'known >= first ? known + 1n : first', insteadSays: 'known + 1n' },
      {
        in: 'code',
        says: '(row?.token ?? 0n, header.forgottenTo)',
        insteadSays: '(row?.token ?? 0n, 0n)',
      },
      {
        in: 'code',
        says: '[...times, have, highest].map(',
        insteadSays: '[at, have, highest].map(',
      },
    ],
  },
  {
    // Takes several locks in the caller's order.
    name: 'lock-order',
    shows: 'processes that wait in vain',
    edits: [
      { in: 'code', says: 'names.toSorted((a, b) => a < b ? -1 : 1)', insteadSays: '[...names]' },
    ],
  },
  {
    // Keeps each released lock forever: for the soak.
    name: 'lock-forgotten',
    shows: 'memory that grows',
    edits: [{ in: 'code', says: 'this.#held.delete(section);', insteadSays: '' }],
  },
];

const SCRIPTS = 'data/scripts.cjs';

/** @type {readonly Rule[]} */
export const RULES = [
  {
    // A new holder starts at its clock.
    name: 'floor',
    edits: [
      {
        in: 'code',
        says: 'const floorMs = Math.max(lastMs, floorOf(header))',
        insteadSays: 'const floorMs = 0',
      },
    ],
  },
  {
    // Grants the ranges of a lost registry again.
    name: 'safe-floor',
    edits: [
      {
        in: 'code',
        says: 'toldMs: void 0 }, nowOf(header) + header.quarantineMs)',
        insteadSays: 'toldMs: void 0 }, 0)',
      },
      {
        in: 'code',
        says: 'const safeFloorMs = reading.timeMs + quarantineMs',
        insteadSays: 'const safeFloorMs = 0',
      },
    ],
  },
  {
    // Ignores the survivors' data about a lost registry.
    name: 'heard',
    edits: [
      {
        in: 'code',
        says: 'if (reckoned === void 0)',
        insteadSays: 'if (true)',
      },
      {
        in: 'code',
        says: 'if (seen === void 0 || !isOfAnother(header, seen))',
        insteadSays: 'if (true)',
      },
    ],
  },
  {
    // Grants immediately what a failover may lose.
    name: 'kept-after',
    edits: [{ in: 'code', says: 'if (keepsAfterMs === 0)', insteadSays: 'if (true)' }],
  },
  {
    // Ignores that the server refuses the database, and uses database 0.
    name: 'database',
    edits: [
      {
        in: 'code',
        says: "redis.call('SELECT'",
        insteadSays: "redis.pcall('SELECT'",
      },
    ],
  },
  {
    // The first process at a new registry decides on its layout, without a contest.
    name: 'claim',
    edits: [
      {
        in: 'code',
        says: 'contestedBy(header.fingerprint, fingerprint)',
        insteadSays: 'header.fingerprint',
      },
      {
        in: 'code',
        says: 'case "layout-mismatch":',
        insteadSays: 'case "never answered":',
      },
    ],
  },
  {
    // Redis: stores the end of a range under another name. In a fleet of one build this is
    // harmless. With two builds, each has its own value (`--previous`).
    name: 'stored-name',
    edits: [{ in: 'lua', says: "'r:' .. ", insteadSays: "'d:' .. " }],
  },
  {
    // Accepts rows from a dump as the latest rows.
    name: 'signature',
    edits: [{ in: 'code', says: 'found !== written', insteadSays: 'false' }],
  },
  {
    // Does not ask Sentinel for the number of the failover.
    name: 'failover-number',
    edits: [{ in: 'code', says: '["sentinel", "master"', insteadSays: '["sentinel", "none"' }],
  },
  ...COUNTER_RULES,
  ...LOCK_RULES,
];

/**
 * @param {Rule} rule @param {string} folder `dist` of the library, with ES modules that are not
 * minified
 */
export function takeOut({ name, edits }, folder) {
  const modules = readdirSync(join(folder, 'esm'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.js'))
    .map((path) => join('esm', path));
  for (const { in: where, says, insteadSays } of edits) {
    const without = (/** @type {string} */ part) => part.replaceAll(says, () => insteadSays);
    const broken =
      where === 'lua'
        ? changed(join(folder, SCRIPTS), (text) => scriptsBy(text, without))
        : modules.filter((path) => changed(join(folder, path), without)).length > 0;
    if (!broken) throw new Error(`${name}: the ${where} of the library does not say: ${says}`);
  }
}

/** Whether the edit changed the file. */
function changed(/** @type {string} */ path, /** @type {(text: string) => string} */ change) {
  const text = readFileSync(path, 'utf8');
  const broken = change(text);
  if (broken !== text) writeFileSync(path, broken);
  return broken !== text;
}

/** A part of the scripts by its name. A script consists of parts. */
const PART = /^ *"([\w/-]+)": (".*"),?$/gm;
const SCRIPT = /sha1: "\w+",(\s*)lua: joined\((.*)\)/g;

/** Applies an edit to the scripts. Scripts are sent by hash, so the hashes change as well. */
function scriptsBy(/** @type {string} */ text, /** @type {(lua: string) => string} */ change) {
  const broken = text.replace(PART, (line, _, lua) =>
    line.replace(lua, () => JSON.stringify(change(JSON.parse(lua)))),
  );
  const parts = new Map([...broken.matchAll(PART)].map(([, name, lua]) => [name, lua]));
  return broken.replace(SCRIPT, (_, space, names) => {
    const hash = createHash('sha1');
    for (const name of JSON.parse(`[${names}]`)) hash.update(JSON.parse(parts.get(name) ?? ''));
    return `sha1: "${hash.digest('hex')}",${space}lua: joined(${names})`;
  });
}

// The library, packed and unpacked.

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PEERS = ['@nestjs', 'libsql', 'mysql2', 'pg', 'reflect-metadata', 'rxjs'];
/** The clients, of which a fleet gets one, under its published name. */
export const CLIENTS = [
  'ioredis',
  'ioredis-6',
  'redis',
  'redis-5',
  'iovalkey',
  '@valkey/valkey-glide',
];
/** The package name of a client in an application. */
export const packageOf = (/** @type {string} */ client) => client.replace(/-\d$/, '');
/** The files of the processes under attack. */
const PROCESSES = [
  'processes/living.mjs',
  'processes/given-store.mjs',
  'processes/worker.mjs',
  'processes/number-worker.mjs',
  'processes/lock-worker.mjs',
  'processes/cron-worker.mjs',
  'processes/gapless-worker.mjs',
  'processes/highest-number.mjs',
  'processes/soak-worker.mjs',
  'mistakes/process.mjs',
];

/**
 * @param {string} folder
 * @param {Rule | undefined} rule to remove
 * @param {string} client
 * @param {string} previous another build: its tarball, commit, branch or tag; empty for this build
 * @returns {Promise<string>} the folder in which the processes find the library
 */
export async function unpackLibrary(folder, rule, client = 'ioredis', previous = '') {
  const tarball = await tarballOf(previous);
  const app = join(folder, previous === '' ? 'app' : 'previous-app');
  const library = join(app, 'node_modules', 'nestjs-snowflake');
  mkdirSync(library, { recursive: true });
  run(folder, 'tar', '-xzf', tarball, '-C', library, '--strip-components=1');
  for (const [peer, name] of [...PEERS.map((one) => [one, one]), [client, packageOf(client)]]) {
    const link = join(app, 'node_modules', name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules', peer), link, 'dir');
  }
  for (const path of PROCESSES) {
    cpSync(fileURLToPath(new URL(path, import.meta.url)), join(app, basename(path)));
  }
  if (rule) {
    cpSync(join(dirname(tarball), 'readable'), join(library, 'dist/esm'), { recursive: true });
    takeOut(rule, join(library, 'dist'));
  }
  return app;
}

const tarballOf = (/** @type {string} */ previous) => {
  if (previous === '') return packedLibrary();
  return previous.endsWith('.tgz') ? resolve(previous) : packedAt(previous);
};

function run(/** @type {string} */ folder, /** @type {string} */ command, ...args) {
  const made = spawnSync(command, args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (made.status !== 0) throw new Error(`${command} ${args.join(' ')}:\n${made.stderr}`);
  return made.stdout;
}
