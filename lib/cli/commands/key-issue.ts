/**
 * `snowflake key issue`: makes an API key for an id, to be handed out and stored by hand.
 *
 * Promise: the key is the only secret in the output. No id is made: it is that of a row.
 */
import { isSnowflakeError } from '../../errors.js';
import { usageFault, type Call, type Command } from '../command.js';
import { KEY_OPTIONS, PEPPER_SAYS, keysFrom, pepperText } from '../key-option.js';
import type { ExitCode } from '../surroundings.js';
import { tableLines } from '../table.js';

export const keyIssue: Command = {
  name: 'key issue',
  summary: 'Makes an API key for an id',
  words: { name: 'id', min: 1, max: 1 },
  says: [
    'The id, in decimal, is the primary key of the row that stores the hash. A second key for ' +
      'the same id is a different one. With --secret-name it is derived: always the same, and ' +
      'nothing is stored.',
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

/** What is no id is a mistake in the command line. */
function asUsage<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (isSnowflakeError(error)) throw usageFault(error.message);
    throw error;
  }
}
