/**
 * `snowflake counters create`: creates a counter, which no process does by itself.
 *
 * Promise: a counter that exists is never changed.
 */
import { ID_MAX } from '../../core/id-words.js';
import { isDecimalId } from '../../core/text/decimal.js';
import { shownName } from '../../shown.js';
import { quoted, usageFault, type Call, type Command } from '../command.js';
import { confirm } from '../confirm.js';
import { withCounters } from '../store/counters-option.js';
import { SUPPORT_OPTIONS } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';
import { counterLines, recordsOf } from './counters-list.js';

export const countersCreate: Command = {
  name: 'counters create',
  summary: 'Creates a counter for segments or a series',
  words: { name: 'counter', min: 1, max: 1 },
  says: [
    '--start must be above every number ever used: after a store has lost a counter, above every ' +
      'id in the tables and all that running processes have in hand. Exit code 1: the counter ' +
      'already exists.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    start: { value: 'number', says: 'the first number; of several stores the first position' },
    stores: { value: 'k/N', says: 'which of how many stores this is; default 1/1' },
    yes: { says: 'do not ask, for scripts' },
  },
  examples: [
    `snowflake counters create order --start 1 --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake counters create order --start 500000 --yes --support postgres://localhost/shop`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withCounters(call, async (counters) => {
      const { store, place, limited } = counters;
      const { terminal, options } = call;
      const [counter = ''] = options.words;
      const start = startOf(options.required('start'));
      const stores = options.text('stores') ?? '1/1';
      if (store.create === undefined) throw usageFault(`${place} cannot create counters.`);
      const question = `Create the counter ${shownName(counter)} at ${start} in ${place}?`;
      if (!options.flag('yes') && !(await confirm(terminal, question))) {
        await terminal.say('Nothing was changed.');
        return 1;
      }
      const isNew = await limited(store.create({ counter, start, stores }));
      const record = (await recordsOf(counters)).find((each) => each.counter === counter);
      if (record !== undefined) await terminal.print(...counterLines(record, place));
      if (!isNew) await terminal.say('snowflake: the counter already exists. Nothing was changed.');
      return isNew ? 0 : 1;
    }),
};

function startOf(text: string): bigint {
  if (isDecimalId(text)) return BigInt(text);
  throw usageFault(`Expected --start to be a whole number up to ${ID_MAX}, got ${quoted(text)}.`);
}
