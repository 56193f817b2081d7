/**
 * A command that changes a store: it reads the store, shows the change, asks, and makes it.
 *
 * Guarantee: the command checks its arguments before it opens the store. With --dry, or before a
 * person confirms, it changes nothing. Only the word yes confirms. Without a terminal the command
 * fails instead of waiting for an answer.
 */
import type { WorkerRecord } from '../lease/distributed-support.js';
import {
  failed,
  usageFault,
  type Call,
  type Command,
  type Options,
  type OptionSpecs,
} from './command.js';
import { untilNobody } from './store/move-holders.js';
import { lineChunks, wrapped, type ExitCode, type Terminal } from './terminal.js';

export interface Change {
  /** The effect of the change, one or more sentences each. */
  readonly notice?: readonly string[];
  /** The statement that creates a missing table. */
  readonly sql?: string | undefined;
  /** Absent if the change needs no confirmation. */
  readonly question?: string | undefined;
  /** Reads the holders for which --wait waits, before and after the change. */
  readonly readHeldUp?: () => Promise<WorkerRecord[]>;
  readonly make: () => Promise<ExitCode>;
  /** The message after the change, once the command waits for no holder. */
  readonly end?: string | undefined;
}

interface ChangeCommand<Terms, Store> extends Omit<Command, 'run'> {
  /** The effect of --dry, for the help; absent if the command has no such option. */
  readonly dry?: string;
  readonly yes?: string;
  /** @throws SnowflakeError CONFIG_INVALID */
  readonly terms: (options: Options) => Terms;
  readonly open: (
    call: Call,
    use: (store: Store) => Promise<ExitCode>,
    terms: Terms,
  ) => Promise<ExitCode>;
  /** @returns why the change is impossible, or an exit code if there is nothing to change */
  readonly plan: (store: Store, terms: Terms, call: Call) => Promise<Change | string | ExitCode>;
}

export const WAIT_OPTION: OptionSpecs = {
  wait: { says: 'wait until each process has moved to a worker ID of its side' },
};

export const DRY = 'print what would be done, and do nothing';

export function changeCommand<Terms, Store>(change: ChangeCommand<Terms, Store>): Command {
  const { dry, yes = 'do not ask, for scripts', terms, open, plan, ...command } = change;
  return {
    ...command,
    options: { ...command.options, ...(dry && { dry: { says: dry } }), yes: { says: yes } },
    async run(call: Call): Promise<ExitCode> {
      const given = terms(call.options);
      const use = async (store: Store) => carryOut(call, await plan(store, given, call));
      return open(call, use, given);
    },
  };
}

async function carryOut(call: Call, planned: Change | string | ExitCode): Promise<ExitCode> {
  const { options, terminal } = call;
  if (typeof planned === 'string') return failed(call, `${planned} ${UNCHANGED}`);
  if (typeof planned === 'number') return planned;
  const { notice = [], sql, question, readHeldUp, make, end } = planned;
  await terminal.print(...notice.flatMap((sentence) => wrapped(sentence)));
  if (sql !== undefined) await terminal.printSql(sql);
  if (options.flag('dry')) return 0;
  if (question !== undefined && !options.flag('yes') && !(await confirm(terminal, question))) {
    await terminal.say(UNCHANGED);
    return 1;
  }
  const wait = async () => {
    if (readHeldUp && options.flag('wait')) await untilNobody(readHeldUp, terminal);
  };
  await wait();
  const code = await make();
  if (code === 0) await wait();
  if (code === 0 && end !== undefined) await terminal.say(end);
  return code;
}

export const UNCHANGED = 'Nothing was changed.';
export const NO_TABLE = 'This store needs no table.';

/** True when the operator types yes. @throws SnowflakeError CONFIG_INVALID without a terminal */
async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  if (terminal.stdin.isTTY !== true) {
    throw usageFault(
      `Standard input is not a terminal, so you cannot confirm this. ${UNCHANGED} In a script, ` +
        `add --yes.`,
    );
  }
  await terminal.ask(`${question} Type yes to continue: `);
  for await (const [answer = ''] of lineChunks(terminal.stdin)) return /^yes\s*$/i.test(answer);
  return false;
}
