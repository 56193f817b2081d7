/**
 * The commands that need no store: decode, encode, range, layout and key.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { BitLayout, layouts, publicIds, textForms } from 'nestjs-snowflake/core';
import { ApiKeys } from '../../lib/api-keys/index.js';
import { COMMANDS } from '../../lib/cli/commands/index.js';
import { bitDiagram } from '../../lib/cli/describe-id.js';
import { layoutOfFingerprint } from '../../lib/cli/layout-option.js';
import { command, typing } from './run-command.js';

describe('commands for IDs', () => {
  const ID = '382366441078288384';
  const parts = layouts.snowflake().parse(ID);

  describe('decode', () => {
    it('prints time, worker ID and sequence, and draws every bit', async () => {
      const { code, out, err } = await command(['decode', ID]);
      expect([code, err]).toEqual([0, '']);
      expect(out).toContain(parts.date.toISOString());
      expect(out).toMatch(new RegExp(`worker id +${parts.workerId}\\n`));
      expect(out).toContain(BigInt(ID).toString(2).padStart(63, '0').slice(0, 41));
    });

    it('prints IDs as strings in JSON, with all fields', async () => {
      const { lines } = await command(['decode', '--json', '--layout', 'twitter', ID, '1']);
      const { fields, workerId } = layouts.twitter().parse(ID);
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
        expect.objectContaining({ id: ID, fields, workerId, text: ID }),
        expect.objectContaining({ id: '1', sequence: 1 }),
      ]);
    });

    it.each(Object.keys(textForms) as (keyof typeof textForms)[])('reads %s', async (form) => {
      const text = textForms[form].encode(BigInt(ID));
      const { lines } = await command(['decode', '--json', '--form', form, text]);
      expect(JSON.parse(lines[0]!)).toMatchObject({ id: ID, text });
    });

    it('reads and writes public IDs with the key from the environment', async () => {
      const key = '9f4c1e07b2a8d36515e0c7734ba9f218';
      const env = { SNOWFLAKE_PUBLIC_ID_KEY: key };
      const text = publicIds({ prefix: 'ord', key }).encode(BigInt(ID));
      const { lines } = await command(['decode', '--json', '--public', 'ord', text], { env });
      expect(JSON.parse(lines[0]!)).toMatchObject({ id: ID, text });
      const time = ['--time', parts.date.toISOString(), '--worker', String(parts.workerId)];
      const encode = ['encode', ...time, '--sequence', String(parts.sequence), '--public', 'ord'];
      expect((await command(encode, { env })).lines[0]).toBe(text);
      const wrong = [
        await command(['decode', '--public', 'cus', text], { env }),
        await command(['decode', '--public', 'ord', '--form', 'hex', text], { env }),
        await command(['decode', '--public', 'ord', text]),
        await command(['decode', '--public', 'ord', text], {
          env: { SNOWFLAKE_PUBLIC_ID_KEY: `${key}f` },
        }),
      ];
      expect(wrong.map(({ code }) => code)).toEqual([1, 2, 2, 2]);
      expect(wrong[0]!.err).toContain('does not begin with "cus_"');
      expect(wrong[2]!.err).toContain('SNOWFLAKE_PUBLIC_ID_KEY');
      expect(wrong.map(({ out, err }) => out + err).join('')).not.toContain(key.slice(0, 8));
    });

    it('lists the likeliest presets of an ID first if no layout is given', async () => {
      const fitsOf = async (id: bigint) => {
        const { lines } = await command(['decode', '--json', String(id)]);
        return (JSON.parse(lines[0]!) as { fits: { presets: string[]; time: string }[] }).fits;
      };
      const timestampMs = Date.now() - 3_600_000;
      const names = ['snowflake', 'tsid', 'discord', 'mastodon', 'yitter', 'sonyflake'] as const;
      for (const name of names) {
        const id = layouts[name]().compose({ timestampMs, workerId: name === 'mastodon' ? 0 : 3 });
        const [likeliest] = await fitsOf(id);
        expect(likeliest!.presets).toContain(name);
      }
      // Every preset with the same bits and epoch, in the order of the table.
      const hutool = layouts.hutool();
      const same = Object.entries(layouts).filter(
        ([, make]) => make().fingerprint === hutool.fingerprint,
      );
      expect(same.length).toBeGreaterThan(1);
      expect((await fitsOf(hutool.compose({ timestampMs })))[0]!.presets).toEqual(
        same.map(([name]) => name),
      );
      const { out } = await command(['decode', ID]);
      expect(out).toMatch(
        /An id does not say its layout.*\n.*likeliest first:\n +2026-11-21T03:07:43/,
      );
      for (const counter of ['7', '4294967295']) {
        expect((await command(['decode', counter])).out).toContain('Its time fits no preset');
      }
    });

    it('does not guess if the layout or the epoch is given', async () => {
      for (const how of [
        ['--layout', 'tsid'],
        ['--epoch', '2020-01-01'],
      ]) {
        expect((await command(['decode', ...how, ID])).out).not.toContain('does not say');
        const { lines } = await command(['decode', '--json', ...how, ID]);
        expect(JSON.parse(lines[0]!)).not.toHaveProperty('fits');
      }
    });

    it('takes layouts by fields and by fingerprint', async () => {
      const spec = ['--fields', 'timestamp:39,room:2,machine:7,business:4:call,sequence:7'];
      const own = await command(['decode', '--json', ...spec, '--unit', '10ms', ID]);
      const read = JSON.parse(own.lines[0]!) as { fields: object };
      expect(Object.keys(read.fields)).toEqual([
        'timestamp',
        'room',
        'machine',
        'business',
        'sequence',
      ]);
      const { fingerprint } = layouts.sonyflake();
      const [one, other] = await Promise.all(
        [fingerprint, 'sonyflake'].map((name) =>
          command(['decode', '--json', '--layout', name, ID]),
        ),
      );
      expect(JSON.parse(one!.lines[0]!)).toMatchObject({
        timestampMs: (JSON.parse(other!.lines[0]!) as { timestampMs: number }).timestampMs,
      });
    });

    it('decodes the valid IDs of a stream and names the lines of the invalid ones', async () => {
      const stdin = `${ID}\r\n\nnonsense\n7`;
      const { code, lines, err } = await command(['decode', '--json'], { stdin });
      expect(code).toBe(1);
      expect(lines.map((line) => (JSON.parse(line) as { id: string }).id)).toEqual([ID, '7']);
      expect(err).toMatch(/^snowflake: line 3: .*nonsense/);
      expect(err.trimEnd().split('\n')).toHaveLength(1);
    });

    it('rejects a line of any length without buffering it', async () => {
      async function* endless() {
        for (let at = 0; at < 1000; at++) yield '9'.repeat(10_000);
      }
      const { code, err } = await command(['decode'], { stdin: endless() });
      expect(code).toBe(1);
      expect(err.length).toBeLessThan(500);
    });

    it('does not wait for IDs typed at a terminal', async () => {
      async function* never() {
        yield await new Promise<string>(() => undefined);
      }
      const stdin = Object.assign(never(), { isTTY: true });
      expect(await command(['decode'], { stdin })).toMatchObject({ code: 2, out: '' });
    });
  });

  describe('encode', () => {
    it('is the inverse of decode for every preset and form', async () => {
      const names = Object.keys(layouts) as (keyof typeof layouts)[];
      const forms = Object.keys(textForms);
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...names),
          fc.constantFrom(...forms),
          fc.nat(),
          fc.nat(),
          async (name, form, time, worker) => {
            const layout = layouts[name]();
            const timestampMs = layout.msOf(time % (layout.timestamp.max + 1));
            const workerId = worker % (layout.workerIdMax + 1);
            const how = ['--layout', name, '--form', form];
            const what = ['--time', String(timestampMs), '--worker', String(workerId)];
            const encoded = await command(['encode', ...how, ...what, '--sequence', '5']);
            const decoded = await command(['decode', ...how, '--json', encoded.lines[0]!]);
            const read = JSON.parse(decoded.lines[0]!) as unknown;
            expect(read).toMatchObject({ timestampMs, workerId, sequence: 5 });
          },
        ),
        { numRuns: 60 },
      );
    });

    it('fills single worker fields and call fields, and rejects others', async () => {
      const how = ['encode', '--layout', 'discord', '--time', '2026-11-21', '--json'];
      const { lines } = await command([...how, '--field', 'worker=3', '--field', 'process=4']);
      expect(JSON.parse(lines[0]!)).toMatchObject({ workerId: 3 * 32 + 4 });
      const unknown = await command([...how, '--field', 'room=1']);
      expect(unknown.code).toBe(2);
      expect(unknown.err).toContain('worker, process');
      expect(await command([...how, '--field', 'worker=32'])).toMatchObject({ code: 2, out: '' });
    });

    it.each(['2026-02-30', '2026-11-21T09:00', 'yesterday', '', '21.11.2026'])(
      'rejects the time %p',
      async (time) => {
        expect(await command(['encode', '--time', time])).toMatchObject({ code: 2, out: '' });
      },
    );
  });

  describe('range', () => {
    const layout = layouts.snowflake();
    const span = async (from: string, to: string) => {
      const { lines } = await command(['range', '--from', from, '--to', to, '--json']);
      return JSON.parse(lines[0]!) as { first: string; last: string; where: string };
    };

    it.each([
      ['2026-11-01', '2026-11-30', '2026-11-01T00:00:00.000Z', '2026-11-30T23:59:59.999Z'],
      [
        '2026-11-01T08:00Z',
        '2026-11-01T08:00Z',
        '2026-11-01T08:00:00Z',
        '2026-11-01T08:00:59.999Z',
      ],
      [
        '2026-11-01 10:00:00+02:00',
        '2026-11-01T08:00:00Z',
        '2026-11-01T08:00:00.000Z',
        '2026-11-01T08:00:00.999Z',
      ],
    ])('from %s to %s includes both given times completely', async (from, to, first, last) => {
      const ids = layout.idRange(new Date(first), new Date(last));
      expect(await span(from, to)).toMatchObject({ first: `${ids.first}`, last: `${ids.last}` });
    });

    it('prints a condition that fits into a query', async () => {
      const args = ['range', '--from', '2026-11-01', '--to', '2026-11-02', '--column', '"o"."id"'];
      const { lines } = await command(args);
      expect(lines.at(-1)).toMatch(/^WHERE "o"\."id" BETWEEN \d{18} AND \d{18}$/);
      expect(await command([...args.slice(0, -1), 'id; DROP'])).toMatchObject({ code: 2, out: '' });
    });

    it('reports a span that contains no ID', async () => {
      const past = await command(['range', '--from', '2001-01-01', '--to', '2002-01-01']);
      expect(past).toMatchObject({ code: 1, out: '' });
      const turned = await command(['range', '--from', '2026-02-01', '--to', '2026-01-01']);
      expect(turned.code).toBe(2);
    });
  });

  describe('layout', () => {
    it('shows the lifetime, the worker count and the ID rate', async () => {
      const { out } = await command(['layout']);
      for (const said of ['2093', '69.7 years', '1,024', '4,096,000', '4,194,304,000']) {
        expect(out).toContain(said);
      }
    });

    it('shows other bits next to the first layout', async () => {
      const args = ['layout', '--json', '--what-if', 'worker:12,sequence:10'];
      const facts = (await command(args)).lines.map((line) => JSON.parse(line) as object);
      expect(facts).toMatchObject([{ workers: 1024 }, { workers: 4096, bits: 63 }]);
      const wide = await command(['layout', '--what-if', 'worker:12']);
      expect(wide.code).toBe(2);
      expect(wide.err).toContain('63 bits');
      expect((await command(['layout', '--what-if', 'room:2'])).err).toContain('worker, sequence');
    });

    it('draws 64 bits for any layout', () => {
      for (const preset of Object.values(layouts)) {
        const [, , names] = bitDiagram(preset());
        const counts = [...names!.matchAll(/(\d+) \w+/g)].map(([, bits]) => Number(bits));
        const unnamed = preset().totalBits === 63 ? 1 : 0;
        expect(counts.reduce((sum, bits) => sum + bits, unnamed)).toBe(64);
      }
    });

    it('reads a layout back from its fingerprint', () => {
      for (const preset of Object.values(layouts)) {
        const { fingerprint } = preset();
        expect(layoutOfFingerprint(fingerprint)?.fingerprint).toBe(fingerprint);
      }
      const early = layouts.snowflake({ epoch: '1970-01-20T17:21:07.200Z' });
      expect(layoutOfFingerprint(early.fingerprint)?.fingerprint).toBe(early.fingerprint);
      const split = new BitLayout({
        fields: [
          ['a', 2],
          ['timestamp', 41],
          ['b', 3],
          ['c', 4, 'call'],
          ['sequence', 8],
        ],
      });
      expect(layoutOfFingerprint(split.fingerprint)?.fingerprint).toBe(split.fingerprint);
      expect(layoutOfFingerprint('f')).toBeUndefined();
    });
  });
});

/*
 * key issue and key read: their results, and that the new key is the only secret in any output.
 */
describe('key', () => {
  const ID = '382366441078288384';
  const PEPPER = 'hunter2 a pepper of at least 32 characters';
  const SECRET = 'hunter3 a secret of at least 32 characters';
  const OF_PREFIX = ['--prefix', 'shop_live'];
  const peppered = { SNOWFLAKE_API_KEY_PEPPER: PEPPER };
  const secret = { SNOWFLAKE_API_KEY_SECRET: SECRET };

  const keys = new ApiKeys({ prefix: 'shop_live', pepper: PEPPER, secrets: { a: SECRET } });

  describe('key issue', () => {
    it('makes a key that the application accepts', async () => {
      const args = ['key', 'issue', ...OF_PREFIX, '--json', ID];
      const { code, lines, err } = await command(args, { env: peppered });
      const said = JSON.parse(lines[0]!) as { key: string; hash: string };
      expect([code, err]).toEqual([0, '']);
      expect(said).toEqual({
        key: expect.any(String),
        keyId: ID,
        hash: expect.any(String),
        hasPepper: true,
      });
      expect(keys.verify(said.key, said.hash)).toBe(true);
      const [again] = (await command(args, { env: peppered })).lines;
      expect((JSON.parse(again!) as { key: string }).key).not.toBe(said.key);
    });

    it('explains in plain text what to store, and whether the hash contains a pepper', async () => {
      const plain = await command(['key', 'issue', ...OF_PREFIX, ID], {
        env: { SNOWFLAKE_API_KEY_PEPPER: '' },
      });
      const [key, ...rows] = plain.lines;
      expect(keys.parse(key!)).toEqual({ keyId: ID });
      expect(rows).toEqual([
        `  key id  ${ID}`,
        expect.stringMatching(/^ {2}hash {4}[0-9a-f]{64}$/),
        '  pepper  none; SNOWFLAKE_API_KEY_PEPPER is not set',
      ]);
    });

    it('derives a key with the secret from the environment', async () => {
      const args = ['key', 'issue', ...OF_PREFIX, '--secret-name', 'a', ID];
      const { lines } = await command(args, { env: secret });
      expect(lines).toEqual([keys.derive(ID), `  key id   ${ID}`, '  derived  with the secret a']);
    });
  });

  describe('key read', () => {
    const { key, hash } = keys.issue(ID);
    const read = (stdin: string, more: string[] = [], env = {}) =>
      command(['key', 'read', ...OF_PREFIX, ...more], { stdin, env });

    it('shows the ID of a key without a hash or secret to compare it with', async () => {
      const { code, lines } = await read(`${key}\n`);
      expect(code).toBe(0);
      expect(lines).toEqual([
        ID,
        '  kind   issued, with a stored hash',
        '  right  not compared; give --hash',
      ]);
    });

    it('compares a key with a stored hash and the pepper', async () => {
      const withHash = ['--hash', hash];
      const right = await read(key, [...withHash, '--json'], peppered);
      expect(right.code).toBe(0);
      expect(JSON.parse(right.lines[0]!)).toEqual({ keyId: ID, isRight: true });
      const wrong = await read(key, withHash);
      expect(wrong.code).toBe(1);
      expect(wrong.out).toContain('NO');
      expect(wrong.out).toContain('pepper  none');
    });

    it('compares derived keys with the secret from the environment', async () => {
      const name = ['--json', '--secret-name', 'a'];
      const right = await read(keys.derive(ID), name, secret);
      expect(right).toMatchObject({ code: 0 });
      expect(JSON.parse(right.lines[0]!)).toEqual({ keyId: ID, secretName: 'a', isRight: true });
      const other = await read(keys.derive(ID), name, { SNOWFLAKE_API_KEY_SECRET: PEPPER });
      expect([other.code, JSON.parse(other.lines[0]!)]).toEqual([
        1,
        { keyId: ID, secretName: 'a', isRight: false },
      ]);
    });

    it('reads the valid keys of a list, and reports the line numbers of the others', async () => {
      const stdin = `${key}\r\n\n${key.slice(0, -1)}\n${keys.derive(ID)}\n${key}`;
      const { code, lines, err } = await read(stdin, ['--json']);
      expect(code).toBe(1);
      expect(lines.map((line) => (JSON.parse(line) as { keyId: string }).keyId)).toEqual([ID, ID]);
      expect(err).toMatch(/^snowflake: line 3: not a valid shop_live key \(69 characters/);
      expect(err).toMatch(/\nsnowflake: line 4: not a valid/);
    });

    it.each(['', '\n', ' \r\n\n'])('reports that %j contains no key', async (stdin) => {
      const { code, out, err } = await read(stdin);
      expect([code, out, err]).toEqual([
        1,
        '',
        'snowflake: there are no keys on standard input.\n',
      ]);
    });

    it('does not wait for keys typed at a terminal', async () => {
      const args = ['key', 'read', ...OF_PREFIX];
      expect(await command(args, { stdin: typing(key) })).toMatchObject({ code: 2, out: '' });
    });
  });

  describe('secrecy of the key commands', () => {
    const { key, hash } = keys.issue(ID);
    const derived = keys.derive(ID);

    it.each([
      ['key', key],
      ['key', 'read', key],
      ['key', 'read', ...OF_PREFIX, key],
      ['key', 'read', ...OF_PREFIX, derived],
      ['key', 'read', '--prefix', key],
      ['key', 'read', ...OF_PREFIX, '--hash', key],
      ['key', 'read', ...OF_PREFIX, `--key=${key}`],
      ['key', 'read', ...OF_PREFIX, '--key', key],
      ['key', 'issue', ...OF_PREFIX, key],
      ['key', 'issue', ...OF_PREFIX, ID, key],
      ['key', 'issue', ...OF_PREFIX, ID, 'hunter2'.repeat(6)],
      ['key', 'issue', ...OF_PREFIX, `--pepper=${PEPPER}`, ID],
      ['key', 'issue', ...OF_PREFIX, '--pepper', PEPPER, ID],
      ['key', 'issue', ...OF_PREFIX, '--secret-name', SECRET, ID],
      ['key', 'issue', '--prefix', SECRET, ID],
      [key],
    ])('survives mistakes in the command line, %#', async (...args) => {
      for (const env of [{}, { ...peppered, ...secret }]) {
        const { code, out, err } = await command(args, { env, stdin: key });
        expect(code).toBe(2);
        expect(err).not.toBe('');
        for (const part of ['hunter', key.slice(-30), derived.slice(-30)]) {
          expect(out + err).not.toContain(part);
        }
      }
    });

    it('survives invalid variables', async () => {
      for (const wrong of ['hunter2', `${PEPPER}\n`, 'x'.repeat(40)]) {
        const env = { SNOWFLAKE_API_KEY_PEPPER: wrong, SNOWFLAKE_API_KEY_SECRET: wrong };
        const args = ['key', 'issue', ...OF_PREFIX, '--secret-name', 'a', ID];
        const { code, out, err } = await command(args, { env });
        expect([code, out]).toEqual([2, '']);
        expect(err).not.toMatch(/hunter|xxx/);
      }
    });

    it('hides everything but the new key in all output', async () => {
      const env = { ...peppered, ...secret };
      const issued = await command(['key', 'issue', ...OF_PREFIX, ID], { env });
      const read = await command(
        ['key', 'read', ...OF_PREFIX, '--hash', hash, '--secret-name', 'a'],
        { env, stdin: `${key}\n${derived}\nx` },
      );
      const [made, ...rest] = issued.lines;
      const said = [...rest, issued.err, read.out, read.err].join('\n');
      for (const part of ['hunter', made!.slice(-30), key.slice(-30), derived.slice(-30)]) {
        expect(said).not.toContain(part);
      }
    });

    it('is not endangered by any option that takes a secret', () => {
      const options = COMMANDS.filter(({ name }) => name.startsWith('key ')).flatMap((one) =>
        Object.keys(one.options),
      );
      expect(new Set(options)).toEqual(new Set(['prefix', 'secret-name', 'hash', 'json']));
    });
  });
});
