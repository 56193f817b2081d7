/**
 * Asks before something is changed for others.
 *
 * Promise: only the word yes is a yes, and a script that cannot be asked is refused, not waited
 * for.
 */
import { usageFault } from './command.js';
import { lineChunks } from './read-lines.js';
import type { Terminal } from './terminal.js';

/** True when the operator types yes. @throws SnowflakeError CONFIG_INVALID without a terminal */
export async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  if (terminal.stdin.isTTY !== true) {
    throw usageFault(
      'Standard input is no terminal, so nobody can be asked, and nothing was changed. In a ' +
        'script add --yes.',
    );
  }
  await terminal.ask(`${question} Type yes to go on: `);
  for await (const [answer = ''] of lineChunks(terminal.stdin)) return /^yes\s*$/i.test(answer);
  return false;
}
