/**
 * `snowflake key issue`: creates an API key for an ID, to hand out, and its hash, to store.
 *
 * Guarantee: the key is the only secret in the output. The ID comes from a row; none is generated.
 */
import { isSnowflakeError } from '../../errors.js';
import { asUsage, failed, usageFault, type Call, type Command } from '../command.js';
import { KEY_OPTIONS, keysFrom, PEPPER_SAYS, pepperText, type NamedKeys } from '../form-option.js';
import { lineChunks, tableLines, type ExitCode } from '../terminal.js';

export const keyIssue: Command = {
  name: 'key issue',
  summary: 'Issue an API key for an ID',
  words: { name: 'id', min: 1, max: 1 },
  says: [
    'The ID, in decimal, is the primary key of the row that stores the hash. A second key for ' +
      'the same ID is a different one. With --secret-name the key is derived: it is always the ' +
      'same, and you store nothing.',
    PEPPER_SAYS,
  ],
  options: { ...KEY_OPTIONS, json: { says: 'a JSON object' } },
  examples: [
    'snowflake key issue --prefix shop_live 382366441078288384',
    'snowflake key issue --prefix shop_live --secret-name a 382366441078288384',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    const [id = ''] = options.words;
    const { keys, secretName, hasPepper } = keysFrom(call);
    const said = asUsage(() =>
      secretName === undefined
        ? { ...keys.issue(id), hasPepper }
        : { key: keys.derive(id), keyId: id, secretName },
    );
    if (options.flag('json')) await terminal.printJson(said);
    else await terminal.print(said.key, ...tableLines(rowsOf(said), '  '));
    return 0;
  },
};

type Said = { readonly keyId: string } & (
  { readonly hash: string; readonly hasPepper: boolean } | { readonly secretName: string }
);

function rowsOf(said: Said): string[][] {
  const keyId = ['key id', said.keyId];
  if ('secretName' in said) return [keyId, ['derived', `with the secret ${said.secretName}`]];
  return [keyId, ['hash', said.hash], ['pepper', pepperText(said.hasPepper)]];
}

/*
 * `snowflake key read`: shows the IDs of API keys, and whether the keys are valid.
 *
 * Guarantee: keys come from standard input, never from an argument, and no part of a key is in the
 * output. An invalid key is reported with its line number.
 */

interface Reading {
  readonly keyId: string;
  readonly secretName?: string;
  /** Absent if there is no hash or secret to compare the key with. */
  readonly isRight?: boolean;
}

export const keyRead: Command = {
  name: 'key read',
  summary: 'Read the ID of an API key, and check whether the key is genuine',
  says: [
    'Reads keys from standard input, one per line, because others could see an argument. Without ' +
      '--hash or --secret-name it prints only what anyone can read from a key. Exit code 1: a ' +
      'line is not a key with the prefix or is not genuine, or there are no keys.',
    PEPPER_SAYS,
  ],
  options: {
    ...KEY_OPTIONS,
    hash: { value: 'hash', says: 'the stored hash, to compare the key with' },
    json: { says: 'one JSON object per line' },
  },
  examples: [
    'snowflake key read --prefix shop_live < key.txt',
    'snowflake key read --prefix shop_live --hash 2a89c1ca732e... < key.txt',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    const named = keysFrom(call);
    if (terminal.stdin.isTTY === true) {
      throw usageFault('Send keys to standard input, one per line: snowflake key read < key.txt');
    }
    let lineNumber = 0;
    let keyCount = 0;
    let code: ExitCode = 0;
    for await (const lines of lineChunks(terminal.stdin)) {
      for (const line of lines) {
        lineNumber++;
        const key = line.trim();
        if (key === '') continue;
        keyCount++;
        const reading = readingOf(key, options.text('hash'), named);
        if (reading === undefined) {
          await terminal.say(`snowflake: line ${lineNumber}: ${refusalOf(key, call)}`);
        } else if (options.flag('json')) await terminal.printJson(reading);
        else await terminal.print(...linesOf(reading, named.hasPepper));
        if (reading === undefined || reading.isRight === false) code = 1;
      }
      if (terminal.isUnread) break;
    }
    return keyCount > 0 ? code : failed(call, 'there are no keys on standard input.');
  },
};

function readingOf(key: string, hash: string | undefined, named: NamedKeys): Reading | undefined {
  const { keys } = named;
  const parsed = keys.parse(key);
  if (parsed === undefined) return undefined;
  if (parsed.secretName !== undefined) return { ...parsed, isRight: keys.verifyDerived(key) };
  return hash === undefined ? parsed : { ...parsed, isRight: verify(named, key, hash) };
}

/** A malformed hash is a mistake in the command line. */
function verify({ keys }: NamedKeys, key: string, hash: string): boolean {
  try {
    return keys.verify(key, hash);
  } catch (error) {
    if (!isSnowflakeError(error)) throw error;
    throw usageFault('Expected --hash to be the stored hash, which has 64 hexadecimal digits.');
  }
}

function linesOf({ keyId, secretName, isRight }: Reading, hasPepper: boolean): string[] {
  const isDerived = secretName !== undefined;
  const rows = [
    ['kind', isDerived ? `derived with the secret ${secretName}` : 'issued, with a stored hash'],
    ['right', isRight === undefined ? 'not compared; give --hash' : isRight ? 'yes' : 'NO'],
  ];
  if (!isDerived && isRight !== undefined) rows.push(['pepper', pepperText(hasPepper)]);
  return [keyId, ...tableLines(rows, '  ')];
}

function refusalOf(key: string, { options }: Call): string {
  return (
    `not a valid ${options.text('prefix')} key (${key.length} characters, not shown). It is ` +
    `mistyped, cut off, or derived with a secret that --secret-name does not name.`
  );
}
