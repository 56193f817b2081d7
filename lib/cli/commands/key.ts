/**
 * `snowflake key issue`: creates an API key for an ID, to hand out, and its hash, to store.
 *
 * Guarantee: the key is the only secret in the output. The ID comes from a row; none is generated.
 */
import { ApiKeys } from '../../api-keys/api-keys.js';
import { isSnowflakeError } from '../../errors.js';
import { printableJson } from '../../messages.js';
import {
  answerLines,
  asUsage,
  show,
  usageFault,
  type Call,
  type Command,
  type OptionSpecs,
} from '../command.js';
import { tableLines, type ExitCode } from '../terminal.js';

/*
 * The options --prefix and --secret-name configure `ApiKeys`.
 *
 * Guarantee: secrets come only from the environment. Every user of the machine can see an argument,
 * and the shell stores it.
 */

const PEPPER_VARIABLE = 'SNOWFLAKE_API_KEY_PEPPER';
const SECRET_VARIABLE = 'SNOWFLAKE_API_KEY_SECRET';

const KEY_OPTIONS: OptionSpecs = {
  prefix: { value: 'prefix', says: 'as in the application, e.g. shop_live', isRequired: true },
  'secret-name': {
    value: 'letter',
    says: `derived keys of this letter; their secret is in ${SECRET_VARIABLE}`,
  },
};

const PEPPER_SAYS =
  'The pepper of the application, if it has one, is read from the environment: ' +
  `${PEPPER_VARIABLE}.`;

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
    const [id = ''] = call.options.words;
    const { keys, secretName, hasPepper } = keysFrom(call);
    const said = asUsage(() =>
      secretName === undefined
        ? { ...keys.issue(id), hasPepper }
        : { key: keys.derive(id), keyId: id, secretName },
    );
    const rows =
      'secretName' in said
        ? [['derived', `with the secret ${said.secretName}`]]
        : [
            ['hash', said.hash],
            ['pepper', pepperText(said.hasPepper)],
          ];
    return show(call, said, said.key, ...tableLines([['key id', said.keyId], ...rows], '  '));
  },
};

/** @throws SnowflakeError CONFIG_INVALID */
function keysFrom({ options, env }: Call) {
  const prefix = options.text('prefix')!;
  const secretName = options.text('secret-name');
  // Compose files pass an unset variable as an empty one.
  const pepper = env[PEPPER_VARIABLE] || undefined;
  const secret = env[SECRET_VARIABLE] || undefined;
  if (secretName !== undefined && secret === undefined) {
    throw usageFault(`--secret-name needs the secret in the variable ${SECRET_VARIABLE}.`);
  }
  const secrets = secretName === undefined ? {} : { [secretName]: secret! };
  const hasPepper = pepper !== undefined;
  const keys = new ApiKeys({ prefix, ...(hasPepper && { pepper }), secrets });
  return { keys, secretName, hasPepper };
}

const pepperText = (hasPepper: boolean): string =>
  hasPepper ? `that of ${PEPPER_VARIABLE}` : `none; ${PEPPER_VARIABLE} is not set`;

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
    let isWrong = false;
    const code = await answerLines(call, 'keys', (key) => {
      const reading = readingOf(key, options.text('hash'), named.keys);
      if (reading === undefined) return refusalOf(key, call);
      isWrong ||= reading.isRight === false;
      if (options.flag('json')) return [printableJson(reading)];
      return linesOf(reading, named.hasPepper);
    });
    return isWrong ? 1 : code;
  },
};

function readingOf(key: string, hash: string | undefined, keys: ApiKeys): Reading | undefined {
  const parsed = keys.parse(key);
  if (parsed?.secretName !== undefined) return { ...parsed, isRight: keys.verifyDerived(key) };
  if (parsed === undefined || hash === undefined) return parsed;
  try {
    return { ...parsed, isRight: keys.verify(key, hash) };
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
