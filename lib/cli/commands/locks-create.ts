/**
 * `snowflake locks create`: makes the table that locks need in a database.
 *
 * Promise: a table that exists is never changed.
 */
import { isSnowflakeError } from '../../errors.js';
import type { Call, Command } from '../command.js';
import { confirm } from '../confirm.js';
import { withLocks, type NamedLocks } from '../store/locks-option.js';
import { SUPPORT_OPTIONS } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';

export const locksCreate: Command = {
  name: 'locks create',
  summary: 'Creates the table that locks need in a database',
  says: [
    'Redis and etcd need none. A migration of yours can do it too, with the statement that --dry ' +
      'prints. Exit code 1: the table already exists.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    yes: { says: 'do not ask, for scripts' },
    dry: { says: 'print the statement that creates the table, and do nothing' },
  },
  examples: [
    `snowflake locks create --dry --support postgres://localhost/shop`,
    `snowflake locks create --yes --support mysql://localhost/shop`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withLocks(call, async (locks) => {
      const { terminal, options } = call;
      const { preparation, place } = locks;
      if (preparation === undefined) {
        await terminal.say(`${place} needs no table. Nothing was changed.`);
        return 0;
      }
      await terminal.print(preparation.text);
      if (options.flag('dry')) return 0;
      if (await isThere(locks)) {
        await terminal.say('snowflake: the table already exists. Nothing was changed.');
        return 1;
      }
      if (!options.flag('yes') && !(await confirm(terminal, 'Create this table?'))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      await preparation.run();
      return (await isThere(locks)) ? 0 : 1;
    }),
};

async function isThere(locks: NamedLocks): Promise<boolean> {
  try {
    await locks.records();
    return true;
  } catch (error) {
    if (isSnowflakeError(error) && error.details['refusal'] === 'no-table') return false;
    throw error;
  }
}
