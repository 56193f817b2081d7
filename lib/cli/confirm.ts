/**
 * Asks before something is changed that others use.
 *
 * Promise: only the word yes is a yes. Without a terminal the command is refused and does not wait.
 */
import { usageFault } from './command.js';
import { lineChunks } from './read-lines.js';
import type { Terminal } from './terminal.js';

/** True when the operator types yes. @throws SnowflakeError CONFIG_INVALID without a terminal */
export async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  if (terminal.stdin.isTTY !== true) {
    throw usageFault(
      'Standard input is not a terminal, so nobody can confirm this. Nothing was changed. In a ' +
        'script add --yes.',
    );
  }
  await terminal.ask(`${question} Type yes to continue: `);
  for await (const [answer = ''] of lineChunks(terminal.stdin)) return /^yes\s*$/i.test(answer);
  return false;
}
