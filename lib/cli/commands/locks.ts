/**
 * `snowflake locks`: which locks are held, by whom, since when and for how long.
 *
 * Promise: nothing is changed, and what others wrote into the store steers no terminal.
 */
import type { LockRecord } from '../../lock/lock-store.js';
import { cutName, printable } from '../../shown.js';
import { usageFault, type Call, type Command } from '../command.js';
import { withLocks, type NamedLocks } from '../store/locks-option.js';
import { SUPPORT_OPTIONS } from '../store/support-option.js';
import type { ExitCode } from '../surroundings.js';
import { tableLines } from '../table.js';
import { spanText, utcText } from '../time-text.js';

const LIMIT = 1000;
const LIMIT_MAX = 1_000_000;
/** One long name must not widen the column of all others. */
const NAME_LENGTH_MAX = 63;

export const locks: Command = {
  name: 'locks',
  summary: 'Which locks are held, by whom and since when',
  says: [
    'A lock that is kept is no longer held: its holder finished before `holdAtLeastMs` was over. ' +
      'Each process reports in its metrics who waits for a lock and who has lost one. You cannot ' +
      "free somebody else's lock: it is free when its time is over.",
  ],
  options: {
    ...SUPPORT_OPTIONS,
    limit: { value: 'count', says: `the most locks to show; default ${LIMIT}` },
    json: { says: 'one JSON object per lock, then one with the counts' },
  },
  examples: [
    `snowflake locks --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake locks --json --support postgres://localhost/shop`,
  ],
  run: (call: Call): Promise<ExitCode> =>
    withLocks(call, async (store) => {
      const limit = limitOf(call);
      const records = await store.records();
      const shown = records.slice(0, limit);
      const keptCount = records.filter(({ isKept }) => isKept).length;
      const counts = { held: records.length - keptCount, kept: keptCount };
      const { terminal, options } = call;
      if (options.flag('json')) {
        const cut = shown.length < records.length && { isCut: true, limit };
        await terminal.printJson(...shown.map(jsonOf), { ...counts, ...cut });
        return 0;
      }
      const head = ['lock', 'state', 'by', 'token', 'since', 'free in'];
      const [title = '', ...rows] = tableLines([head, ...shown.map(rowOf)], '', [3]);
      if (rows.length > 0) await terminal.print({ colour: 'bold', text: title }, ...rows, '');
      await terminal.print(`${countsText(counts, limit)} In ${store.place}.`);
      await tellAdvice(store, call);
      return 0;
    }),
};

/** @throws SnowflakeError CONFIG_INVALID */
function limitOf({ options }: Call): number {
  const limit = options.whole('limit') ?? LIMIT;
  if (limit >= 1 && limit <= LIMIT_MAX) return limit;
  throw usageFault(`Expected --limit to be from 1 to ${LIMIT_MAX}, got ${limit}.`);
}

function countsText({ held, kept }: { held: number; kept: number }, limit: number): string {
  const counts = `${held} held, ${kept} kept.`;
  if (held + kept <= limit) return counts;
  return `${counts} These are the first ${limit}. Raise --limit to see more.`;
}

async function tellAdvice(store: NamedLocks, { terminal }: Call): Promise<void> {
  for (const text of await store.advice()) await terminal.print(`Note: ${text}`);
}

function rowOf({ lock, label, token, sinceMs, leftMs, isKept }: LockRecord): string[] {
  return [
    printable(cutName(lock, NAME_LENGTH_MAX)),
    isKept ? 'kept' : 'held',
    printable(cutName(label, NAME_LENGTH_MAX)),
    String(token),
    utcText(sinceMs),
    spanText(leftMs),
  ];
}

function jsonOf({ lock, label, token, sinceMs, leftMs, isKept }: LockRecord): object {
  const state = isKept ? 'kept' : 'held';
  return { lock, state, label, token: String(token), since: utcText(sinceMs), sinceMs, leftMs };
}
