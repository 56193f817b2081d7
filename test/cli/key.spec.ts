/**
 * key issue and key read: what they make and read, and that no secret but the new key is shown,
 * wherever one is put.
 */
import { describe, expect, it } from '@jest/globals';
import { ApiKeys } from '../../lib/api-keys/index.js';
import { COMMANDS } from '../../lib/cli/commands/index.js';
import { command, typing } from './run-command.js';

const ID = '382366441078288384';
const PEPPER = 'hunter2 a pepper of at least 32 characters';
const SECRET = 'hunter3 a secret of at least 32 characters';
const OF_PREFIX = ['--prefix', 'shop_live'];
const peppered = { SNOWFLAKE_API_KEY_PEPPER: PEPPER };
const secret = { SNOWFLAKE_API_KEY_SECRET: SECRET };

const keys = new ApiKeys({ prefix: 'shop_live', pepper: PEPPER, secrets: { a: SECRET } });

describe('key issue', () => {
  it('makes a key that the application lets in', async () => {
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

  it('says in plain text what to store, and whether a pepper is in the hash', async () => {
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

  it('derives one with the secret of the environment', async () => {
    const args = ['key', 'issue', ...OF_PREFIX, '--secret-name', 'a', ID];
    const { lines } = await command(args, { env: secret });
    expect(lines).toEqual([keys.derive(ID), `  key id   ${ID}`, '  derived  with the secret a']);
  });
});

describe('key read', () => {
  const { key, hash } = keys.issue(ID);
  const read = (stdin: string, more: string[] = [], env = {}) =>
    command(['key', 'read', ...OF_PREFIX, ...more], { stdin, env });

  it('says whose it is, without anything to compare it with', async () => {
    const { code, lines } = await read(`${key}\n`);
    expect(code).toBe(0);
    expect(lines).toEqual([
      ID,
      '  kind   issued, with a stored hash',
      '  right  not compared; give --hash',
    ]);
  });

  it('compares it with a stored hash and the pepper', async () => {
    const withHash = ['--hash', hash];
    const right = await read(key, [...withHash, '--json'], peppered);
    expect(right.code).toBe(0);
    expect(JSON.parse(right.lines[0]!)).toEqual({ keyId: ID, isRight: true });
    const wrong = await read(key, withHash);
    expect(wrong.code).toBe(1);
    expect(wrong.out).toContain('NO');
    expect(wrong.out).toContain('pepper  none');
  });

  it('compares derived keys with the secret of the environment', async () => {
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

  it('answers the good ones of many, and names the lines of the others', async () => {
    const stdin = `${key}\r\n\n${key.slice(0, -1)}\n${keys.derive(ID)}\n${key}`;
    const { code, lines, err } = await read(stdin, ['--json']);
    expect(code).toBe(1);
    expect(lines.map((line) => (JSON.parse(line) as { keyId: string }).keyId)).toEqual([ID, ID]);
    expect(err).toMatch(/^snowflake: line 3: no key of the prefix shop_live.* 69 characters/);
    expect(err).toMatch(/\nsnowflake: line 4: no key/);
  });

  it.each(['', '\n', ' \r\n\n'])('says that there was none in %j', async (stdin) => {
    const { code, out, err } = await read(stdin);
    expect([code, out, err]).toEqual([1, '', 'snowflake: there was no key on standard input.\n']);
  });

  it('does not wait at a terminal', async () => {
    const args = ['key', 'read', ...OF_PREFIX];
    expect(await command(args, { stdin: typing(key) })).toMatchObject({ code: 2, out: '' });
  });
});

describe('no secret is shown', () => {
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
  ])('by mistakes in the command line, %#', async (...args) => {
    for (const env of [{}, { ...peppered, ...secret }]) {
      const { code, out, err } = await command(args, { env, stdin: key });
      expect(code).toBe(2);
      expect(err).not.toBe('');
      for (const part of ['hunter', key.slice(-30), derived.slice(-30)]) {
        expect(out + err).not.toContain(part);
      }
    }
  });

  it('by variables that cannot be used', async () => {
    for (const wrong of ['hunter2', `${PEPPER}\n`, 'x'.repeat(40)]) {
      const env = { SNOWFLAKE_API_KEY_PEPPER: wrong, SNOWFLAKE_API_KEY_SECRET: wrong };
      const args = ['key', 'issue', ...OF_PREFIX, '--secret-name', 'a', ID];
      const { code, out, err } = await command(args, { env });
      expect([code, out]).toEqual([2, '']);
      expect(err).not.toMatch(/hunter|xxx/);
    }
  });

  it('but the key that was made, in all that the commands say', async () => {
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

  it('by an option that takes a secret: there is none', () => {
    const options = COMMANDS.filter(({ name }) => name.startsWith('key ')).flatMap((one) =>
      Object.keys(one.options),
    );
    expect(new Set(options)).toEqual(new Set(['prefix', 'secret-name', 'hash', 'json']));
  });
});
