/**
 * `snowflake locks create`: makes the table that locks need in a database, and lets the time begin
 * for which a new store grants none.
 *
 * Promise: a table that exists is never changed.
 */
import { isSnowflakeError } from '../../errors.js';
import type { Call, Command } from '../command.js';
import { confirm } from '../confirm.js';
import { withLocks, type NamedLocks } from '../store/locks-option.js';
import { SUPPORT_OPTIONS } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';
import { spanText } from '../time-text.js';

const TTL_MS = 10_000;

export const locksCreate: Command = {
  name: 'locks create',
  summary: 'Prepares a store for locks: makes their table in a database, and asks for a first one',
  says: [
    'Redis and etcd need no table. A migration of yours can make it too, with the statement that ' +
      '--dry prints. A store without locks looks like one that has lost them, so it grants none ' +
      'for a while: that begins here, and not with the first lock after a deployment. ' +
      'Exit code 1: the table already exists.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ttl: { value: 'ms', says: 'the longestTtlMs of any process; default 10000' },
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
      const ttlMs = options.whole('ttl') ?? TTL_MS;
      if (preparation !== undefined) await terminal.printSql(preparation.text);
      else await terminal.say(`${place} needs no table.`);
      if (options.flag('dry')) return 0;
      if (preparation !== undefined && (await isThere(locks))) {
        await terminal.say('snowflake: the table already exists. Nothing was changed.');
        return 1;
      }
      const question = preparation === undefined ? 'Begin to keep locks?' : 'Create this table?';
      if (!options.flag('yes') && !(await confirm(terminal, question))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      await preparation?.run();
      const waitMs = await locks.begin(ttlMs);
      const when = waitMs === 0 ? 'now' : `in ${spanText(waitMs)}`;
      await terminal.say(`${place} grants its first lock ${when}.`);
      return 0;
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
