/**
 * Behavior that all commands share: help, errors, exit codes, color.
 */
import { Readable, Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { layouts } from 'nestjs-snowflake/core';
import { COMMANDS } from '../../lib/cli/commands/index.js';
import { run } from '../../lib/cli/run.js';
import { command } from './run-command.js';

const NAMES = COMMANDS.map(({ name }) => name);

describe('help', () => {
  it('of the program lists every command', async () => {
    const { code, out } = await command(['--help']);
    expect(code).toBe(0);
    for (const name of NAMES) expect(out).toContain(`  ${name} `);
  });

  it.each(NAMES)('of %s lists every option and shows an example of it', async (name) => {
    const { code, out, err } = await command([...name.split(' '), '--help']);
    expect([code, err]).toEqual([0, '']);
    const { options } = COMMANDS.find((each) => each.name === name)!;
    for (const option of Object.keys(options)) expect(out).toContain(`--${option}`);
    expect(out).toContain(`snowflake ${name}`);
    expect(await command(['help', ...name.split(' ')])).toMatchObject({ code: 0, out });
  });

  it.each(COMMANDS.map(({ name, summary }) => [name, summary]))(
    'of %s begins with an imperative verb: %s',
    (_name, summary) => {
      expect(summary).toMatch(VERB);
    },
  );

  it.each([
    ['encode', '--time <time>'],
    ['range', '--from <time> --to <time>'],
    ['counters create', '--start <number>'],
    ['partitions', '--table <name> --keep <duration>'],
    ['key issue', '--prefix <prefix>'],
  ])('of %s shows the required arguments in its usage line: %s', async (name, usage) => {
    const { lines } = await command([...name.split(' '), '--help']);
    expect(lines[0]).toContain(`snowflake ${name} ${usage} [options]`);
    expect(lines.filter((line) => line.includes('required'))).toHaveLength(
      usage.split('--').length - 1,
    );
  });

  it('of the program has groups, full example commands and a link to the docs', async () => {
    const { lines } = await command(['--help']);
    expect(lines).toEqual(expect.arrayContaining(['IDs', 'API keys']));
    expect(lines.some((line) => line.startsWith('  npx nestjs-snowflake <command>'))).toBe(true);
    const npx = 'npx --package nestjs-snowflake --package redis snowflake <command>';
    expect(lines.some((line) => line.includes(npx))).toBe(true);
    expect(lines.some((line) => line.endsWith('docs/operating/command-line.md'))).toBe(true);
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
  });
});

const VERB =
  /^(Begin|Build|Check|Create|Explain|Find|Issue|List|Maintain|Move|Prepare|Print|Read|Remove|Return|Show) /;

const REGISTRY = NAMES.filter((name) => name.startsWith('registry '));

describe('help for a first word that several commands share', () => {
  it.each([
    [['registry', '--help']],
    [['registry', '-h']],
    [['registry', '--json', '--help']],
    [['help', 'registry']],
    [['--help', 'registry']],
    [['registry', 'help']],
  ])('lists exactly those commands for %p', async (args) => {
    const { code, out, err } = await command(args);
    expect([code, err]).toEqual([0, '']);
    for (const name of NAMES) expect(out.includes(`  ${name} `)).toBe(REGISTRY.includes(name));
    expect(out).toContain('snowflake registry <command> --help');
  });

  it('appears if the subcommand is missing, but on standard error', async () => {
    const { out } = await command(['registry', '--help']);
    expect(await command(['registry'])).toMatchObject({ code: 2, out: '', err: out });
  });
});

describe('help for a command that has subcommands', () => {
  it.each([
    ['layout', 'layout move'],
    ['locks', 'locks create'],
  ])('of %s also lists %s', async (name, subcommand) => {
    const { out } = await command([name, '--help']);
    expect(out).toContain(`snowflake ${name} [options]`);
    expect(out).toContain(`  ${subcommand} `);
  });
});

describe('an invalid argument', () => {
  it.each([
    ['workers --limit 0', '--limit'],
    ['locks --limit 0', '--limit'],
    ['release x', '<worker>'],
    ['registry create --ttl 5', '--ttl'],
    ['locks create --ttl x', '--ttl'],
    ['locks create --ttl 0', 'Expected --ttl'],
    ['workers --timeout 1y', 'Expected --timeout to be a duration like 30s or 5m'],
    ['counters create order --start x', '--start'],
    ['doctor --layout nope', '"nope"'],
  ])('is rejected before the command opens the store: %s', async (words, said) => {
    const { code, out, err } = await command([...words.split(' '), '--support', 'static:7']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(said);
    expect(err).not.toContain('static');
  });

  it('for an unknown field is rejected with the name of that field', async () => {
    const { code, err } = await command(['encode', '--time', 'now', '--field', 'foo=1']);
    expect(code).toBe(2);
    expect(err).toContain('--field cannot set "foo" in this layout, only worker.');
  });
});

describe('a duration', () => {
  it.each(['1m', '60s', '60000ms', '60000', '60 s'])('is read with its unit: %s', async (text) => {
    const args = ['registry', 'create', '--ttl', text, '--dry', '--support', AWAY];
    expect(await command(args)).toMatchObject({ code: 0, out: '' });
  });

  it('must be in days or weeks if the command drops rows', async () => {
    const args = ['partitions', '--table', 'a', '--url', 'postgres://127.0.0.1:1/a', '--keep'];
    for (const text of ['90', '90000', '90m', '0d']) {
      const { code, err } = await command([...args, text]);
      expect([code, err]).toEqual([
        2,
        expect.stringContaining('Expected --keep to be days or weeks'),
      ]);
    }
  });
});

describe('missing arguments', () => {
  it.each([
    ['partitions', 'Missing: --table <name>, --keep <duration>.'],
    ['partitions --table= --by day', 'Missing: --table <name>, --keep <duration>.'],
    ['key issue', 'Missing: --prefix <prefix>, <id>.'],
    ['release', 'Missing: <worker>.'],
    ['range', 'Missing: --from <time>, --to <time>.'],
  ])('are all named in one message: %s', async (words, said) => {
    const { code, out, err } = await command(words.split(' '));
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(said);
  });
});

describe('JSON output', () => {
  it('is available for explain', async () => {
    const all = await command(['explain', '--json']);
    expect(all.lines.map((line) => JSON.parse(line).title)).toContain('LEASE_LOST');
    const { lines } = await command(['explain', 'LEASE_LOST', '--json']);
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        title: 'LEASE_LOST',
        lines: expect.arrayContaining([expect.stringContaining('Do this: ')]),
      },
    ]);
  });
});

describe('a request for help', () => {
  it.each([
    [['decode', '-h']],
    [['decode', '1', '--help']],
    [['-h', 'decode']],
    [['decode', '--help', '--nope']],
    [['decode', '--form', '--help']],
  ])('shows the help of a command for %p, even if other arguments are invalid', async (args) => {
    const { out } = await command(['help', 'decode']);
    expect(await command(args)).toMatchObject({ code: 0, out, err: '' });
  });

  it.each([[['help']], [['-h']], [['help', 'help']]])('shows every command: %p', async (args) => {
    const { out } = await command(['--help']);
    expect(await command(args)).toMatchObject({ code: 0, out, err: '' });
  });

  it('is read as an ID after --', async () => {
    const { code, err } = await command(['decode', '--', '--help']);
    expect(code).toBe(1);
    expect(err).toContain('got "--help"');
  });

  it('for an unknown command suggests a similar one', async () => {
    const { code, out, err } = await command(['help', 'decoed']);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('Did you mean decode?');
  });
});

describe('a negative number', () => {
  it('is an argument, not an option', async () => {
    const { code, out, err } = await command(['decode', '-1', '7', '--json']);
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ id: '7' });
    expect(err).toMatch(/^snowflake: Expected an id as decimal text, got "-1"/);
    expect((await command(['decode', '--', '-1'])).err).toBe(err);
  });
});

describe('explain', () => {
  const labels = ['You see', 'How long you have', 'Do this', 'Back to normal when'];
  const four = new RegExp(`^([^\\n]+)${labels.map((label) => `\\n- ${label}: [^]+`).join('')}$`);

  it('prints four lines about each name in its list, in any spelling', async () => {
    const { lines } = await command(['explain']);
    expect(lines).toEqual(expect.arrayContaining(['LEASE_LOST', 'degraded', 'Redis is down']));
    for (const name of lines) {
      const { code, out } = await command(['explain', ...name.toUpperCase().split(' ')]);
      expect([code, four.exec(out)?.[1]]).toEqual([0, name]);
      expect(out).not.toMatch(/\*\*|\]\(|^#/m);
    }
    const { out } = await command(['explain', '#redis-is-down']);
    expect(await command(['explain', 'redis', 'is', 'down'])).toMatchObject({ out });
    const stretched = await command(['explain', 'stretched']);
    expect(stretched.out).toContain('see "Redis is down"');
    const duplicate = await command(['explain', 'duplicate', 'id']);
    expect(duplicate.out).toContain('Duplicate IDs');
    expect((await command(['explain', 'ids', 'run', 'out'])).out).toContain('Worker IDs run out');
  });

  it('links to the online page if the name is unknown or the package lacks the page', async () => {
    const none = await command(['explain', 'LEASE_FOUND']);
    expect(none).toMatchObject({ code: 2, out: '' });
    expect(none.err).toContain('There is no runbook "LEASE_FOUND"');
    const bare = await command(['explain', 'LEASE_LOST'], { program: '/nowhere' });
    expect(bare).toMatchObject({ code: 1, out: '' });
    expect(bare.err).toContain(
      'https://github.com/nestjs-snowflake/nestjs-snowflake/blob/main/docs',
    );
  });
});

/**
 * No server listens on this port, so a command that opens its store first reports an unreachable
 * store.
 */
const AWAY = 'redis://127.0.0.1:1';

/** Commands that change something, each with an invalid argument. */
const CHANGES = [
  [`layout move --support ${AWAY}`, 'Give either --to or --end.'],
  [`layout move --end ich --to ich --support ${AWAY}`, 'Give either --to or --end.'],
  [`layout move --to twiter --support ${AWAY}`, 'Did you mean twitter?'],
  [`layout move --to twitter --workers 7 --support ${AWAY}`, 'Expected --workers to be like'],
  [`registry move --end --undo --from ${AWAY} --to ${AWAY}`, 'Give either --end or --undo.'],
  [`registry move --workers 7 --from ${AWAY} --to ${AWAY}`, 'Expected --workers to be like'],
  [`registry create --ttl 5 --support ${AWAY}`, 'Expected --ttl'],
  [`release x --support ${AWAY}`, 'Expected <worker>'],
  [`counters create order --start x --support ${AWAY}`, 'Expected --start'],
  [`counters create order --start 1 --stores 2/1 --support ${AWAY}`, 'to be k/N'],
  [`locks create --ttl x --support ${AWAY}`, 'Expected --ttl'],
  [`doctor --support ${AWAY} --against static:7`, 'no store'],
  [`doctor --support ${AWAY} --regions mongodb://h`, 'mongodb://...'],
] as const;

describe('an invalid command line', () => {
  it.each([
    [['--versoin'], '--version'],
    [['registry', 'creat', '--yes'], 'registry create'],
    [['decoed', '1'], 'decode'],
    [['worker'], 'workers'],
    [['docter'], 'doctor'],
    [['decode', '--jsom', '1'], '--json'],
    [['decode', '--lyaout', '1'], '--layout'],
    [['decode', '--layout', 'twiter', '1'], 'twitter'],
    [['decode', '--form', 'base85', '1'], 'base58'],
  ])('%p gets a suggestion', async (args, meant) => {
    const { code, out, err } = await command(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(`Did you mean ${meant}?`);
  });

  it.each([
    [[], 'Diagnose'],
    [['entirely-different'], 'Choose one of doctor, explain'],
    [
      ['registry', '--json'],
      '`registry` needs a subcommand: registry inspect, registry create, registry settle, ' +
        'registry move',
    ],
    [['registry', 'other'], 'Choose one of registry inspect, registry create'],
    [['--json', 'decode', '1'], 'Options follow the command'],
    [['decode', '--nope', '1'], 'There is no option "--nope". The options are --layout, --fields'],
    [['decode', '-x', '1'], 'There is no option "-x". The options are --layout'],
    [['release', '-1', '--support', 'redis://h'], 'whole number from 0 up, got "-1"'],
    [['encode', '--time', 'now', '--worker', '-1'], '--worker to be a whole number from 0 up'],
    [
      ['encode', '--time', 'now', '--worker', '5000'],
      'Expected --worker to be an integer from 0 to 1023, got 5000.',
    ],
    [
      ['encode', '--time', 'now', '--sequence', '4096'],
      'Expected --sequence to be an integer from 0 to 4095, got 4096.',
    ],
    [['encode', '--time', 'now', '--worker', '007'], '--worker to be a whole number from 0 up'],
    [['encode', '--time', '01700000000000'], 'Expected --time to be'],
    [['encode', '--time', 'now', '--fields', 'worker:010'], 'Expected a field to be like'],
    [
      ['encode', '--time', 'now', '--fields', 'worker:10', '--unit', '010ms'],
      'Expected --unit to be a duration',
    ],
    [['encode', '--time', 'now', '--epoch', '01700000000000'], 'epoch'],
    [
      ['encode', '--time', '1999-01-01'],
      'This layout has IDs from 2024-01-01T00:00:00.000Z to 2093-09-06T15:47:35.551Z',
    ],
    [
      ['encode', '--time', '2026-11-21T09:00:00'],
      '--time has no time zone. Did you mean 2026-11-21T09:00:00Z?',
    ],
    [['encode', '--time', '-5'], 'got "-5"'],
    [['encode'], 'Missing: --time <time>.\nSee: snowflake encode --help'],
    [['counters', 'inspect', ''], 'Missing: <counter>.\nSee: snowflake counters inspect --help'],
    [['range', '--from', '2026-11-01'], 'Missing: --to <time>.\nSee: snowflake range --help'],
    [['encode', '--time'], 'argument missing'],
    [['layout', 'twitter'], 'Unexpected argument "twitter"'],
    [['release'], '<worker>'],
    [['workers'], '--support'],
    [['workers', '--support', 'mongodb://u:secret@h/d'], 'mongodb://...'],
    [
      ['workers', '--support', 'foo'],
      'Supported forms: file:./var/snowflake, redis://host:6379/0?namespace=shop, etcd://',
    ],
    [
      ['counters', 'list', '--support', 'file:./x'],
      'Supported forms: redis://host:6379/0?namespace=shop, etcd://',
    ],
    [['workers', '--support', 'static:7'], 'no store'],
    [['workers', '--support', 'redis://h?name=x'], 'namespace'],
    [['workers', '--support', 'redis://h', '--timeout', '0'], '--timeout'],
    [['decode', '--layout', 'ich', '--fields', 'a:1', '1'], 'not both'],
    [['decode', '--fields', 'timestamp:41', '1'], 'sequence'],
    [['decode', '--epoch', '2999-01-01', '1'], 'past'],
    [['decode', '--unit', '1s', '1'], '--fields'],
    ...CHANGES.map(([words, said]): [string[], string] => [words.split(' '), said]),
  ])('%p exits with 2 and reports the reason', async (args, said) => {
    const { code, out, err } = await command(args);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain(said);
    expect(err).not.toContain('secret');
    expect(err).not.toContain('    at ');
  });
});

describe('an unreachable store', () => {
  it.each([
    'workers',
    'regions',
    'doctor',
    'locks',
    'cron',
    'counters list',
    'counters inspect order',
    'registry inspect',
    'layout move --to twitter',
    `registry move --from ${AWAY}?namespace=a --to ${AWAY}?namespace=b`,
    'registry create',
    'registry settle',
    'release 1',
    'counters create order --start 1',
    'locks create',
  ])('is reported by `%s` before any question', async (words) => {
    const env = { SNOWFLAKE_SUPPORT: AWAY, SNOWFLAKE_REGIONS: AWAY };
    const { code, out, err } = await command(words.split(' '), { env });
    expect([code, out + err]).toEqual([1, expect.stringContaining('ECONNREFUSED')]);
    expect(err).not.toContain('nobody can confirm');
  });
});

describe('color', () => {
  const bad = ['nonsense'];
  it('appears only on terminals that accept it', async () => {
    const escape = '\u001b[';
    expect((await command(bad, { isTTY: true })).err).toContain(escape);
    expect((await command(bad, { isTTY: false })).err).not.toContain(escape);
    const env = { NO_COLOR: '1' };
    expect((await command(bad, { isTTY: true, env })).err).not.toContain(escape);
  });
});

describe('a closed output pipe', () => {
  it('ends the command silently', async () => {
    let err = '';
    let chunks = 0;
    async function* ids() {
      for (; chunks < 1000; chunks++) yield '1\n'.repeat(100);
    }
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(), { code: 'EPIPE' })),
    });
    const stderr = new Writable({
      write: (chunk, _encoding, done) => {
        err += String(chunk);
        done();
      },
    });
    const world = { args: ['decode'], env: {}, stdin: Readable.from(ids()), stdout, stderr };
    expect(await run(world)).toBe(0);
    expect(err).toBe('');
    expect(chunks).toBeLessThan(100);
  });

  it('does not change the exit code', async () => {
    const stdout = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(), { code: 'EPIPE' })),
    });
    const stderr = new Writable({ write: (_chunk, _encoding, done) => done() });
    const args = ['layout', '--after', `${2n ** 63n - 1n}`];
    expect((await command(args)).code).toBe(1);
    expect(await run({ args, env: {}, stdin: Readable.from(['']), stdout, stderr })).toBe(1);
  });

  it('is not confused with a full disk', async () => {
    const full = new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error('x'), { code: 'ENOSPC' })),
    });
    const stderr = new Writable({ write: (_chunk, _encoding, done) => done() });
    const world = { args: ['layout'], env: {}, stdin: Readable.from(['']), stdout: full, stderr };
    expect(await run(world)).toBe(1);
  });
});

/*
 * `snowflake layout --after` decides whether the IDs of a layout can follow the existing IDs.
 */
const DAY_MS = 86_400_000;

interface Judgement {
  readonly after: string;
  readonly isSafe: boolean;
  readonly safeFrom: string | null;
  readonly epochMax: string | null;
}

async function judge(args: readonly string[]) {
  const { code, lines } = await command(['layout', '--json', ...args]);
  return { code, facts: lines.map((line) => JSON.parse(line) as Judgement) };
}

describe('layout --after', () => {
  it('confirms that the IDs of today follow those of yesterday, also as JSON', async () => {
    const { epochMs } = layouts.snowflake();
    const yesterdayMs = Date.now() - DAY_MS;
    const { last } = layouts.snowflake().idRange(new Date(epochMs), new Date(yesterdayMs));
    const { code, out } = await command(['layout', '--after', String(last)]);
    expect(code).toBe(0);
    expect(out).toContain(`Safe: every id made from now on is above ${last}`);
    const safeFrom = new Date(yesterdayMs + 1).toISOString();
    expect(out).toMatch(new RegExp(`above the old ids +since ${safeFrom}\n`));
    const { facts } = await judge(['--after', String(last)]);
    expect(facts).toEqual([
      expect.objectContaining({ after: String(last), isSafe: true, safeFrom }),
    ]);
  });

  it('names the date and the epoch of an unsafe move, and exits with 1', async () => {
    const soon = new Date(Date.now() + 10 * DAY_MS);
    const { last } = layouts.snowflake().idRange(new Date(layouts.snowflake().epochMs), soon);
    const { code, out } = await command(['layout', '--after', String(last)]);
    expect(code).toBe(1);
    expect(out).toContain(`Not safe before ${new Date(soon.getTime() + 1).toISOString()}`);
    const [, epoch = ''] =
      /With an epoch of (\S+) or earlier/.exec(out.replaceAll('\n', ' ')) ?? [];
    expect((await judge(['--after', String(last), '--epoch', epoch])).code).toBe(0);
    const later = new Date(Date.parse(epoch) + DAY_MS).toISOString();
    expect((await judge(['--after', String(last), '--epoch', later])).code).toBe(1);
  });

  it('judges each what-if; the exit code is that of the layout itself', async () => {
    const { last } = layouts.snowflake().idRange(new Date(0), new Date(Date.now() - DAY_MS));
    const how = ['--after', String(last), '--what-if', 'sequence:11'];
    const { code, facts } = await judge(how);
    expect([code, ...facts.map(({ isSafe }) => isSafe)]).toEqual([0, true, false]);
    expect((await command(['layout', ...how])).out).toMatch(/above the old ids +since .* +from /);
  });

  it('prints "never" for a move that never becomes safe', async () => {
    const { code, out } = await command(['layout', '--after', String(2n ** 64n - 1n)]);
    expect(code).toBe(1);
    expect(out).toMatch(/above the old ids +never/);
    expect(out).toContain('take a layout with more bits');
  });

  it.each(['', 'abc', '-5', '007', '1e18', '9'.repeat(31), 'redis://u:hidden@h'])(
    'rejects --after %j',
    async (text) => {
      const { code, err } = await command(['layout', `--after=${text}`]);
      expect(code).toBe(2);
      expect(err).not.toContain('hidden');
    },
  );
});
