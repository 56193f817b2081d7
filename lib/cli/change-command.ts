/**
 * A change as a command: checks its arguments, reads the store, shows the change, asks, makes it.
 *
 * Guarantee: arguments are checked before the store is opened. Nothing is changed with --dry, or
 * before a person confirms: only the word yes is a yes, and without a terminal the command is
 * refused and does not wait.
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
  /** What the change means, a sentence or more each. */
  readonly notice?: readonly string[];
  /** The statement that makes a table which is missing. */
  readonly sql?: string | undefined;
  /** Absent if there is nothing to confirm. */
  readonly question?: string | undefined;
  /** Reads the holders that --wait waits for, before the change and after it. */
  readonly readHeldUp?: () => Promise<WorkerRecord[]>;
  readonly make: () => Promise<ExitCode>;
  /** What to say once the change is made and nobody is waited for. */
  readonly end?: string | undefined;
}

interface ChangeCommand<Terms, Store> extends Omit<Command, 'run'> {
  /** What --dry does, for the help; absent if there is no such option. */
  readonly dry?: string;
  readonly yes?: string;
  /** @throws SnowflakeError CONFIG_INVALID */
  readonly terms: (options: Options) => Terms;
  readonly open: (
    call: Call,
    use: (store: Store) => Promise<ExitCode>,
    terms: Terms,
  ) => Promise<ExitCode>;
  /** @returns why nothing can be changed, or an exit code if there is nothing to change */
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
