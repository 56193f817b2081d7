/**
 * What a generator says to the application's logger: one line per change of its lease.
 *
 * Promise: a logger that throws disturbs nothing. The line goes to Node's warnings instead, so
 * that it is not lost.
 */
import { Logger } from '@nestjs/common';
import type { LeaseChange } from '../lease/keeper-parts.js';

type Level = 'log' | 'warn' | 'error';

export class GeneratorLog {
  private readonly logger: Logger;

  constructor(name: string | undefined) {
    this.logger = new Logger(name === undefined ? 'Snowflake' : `Snowflake:${name}`);
  }

  /** What an operator has to look at is a warning; ids that stop are an error. */
  change({ from, to, workerId, reason }: LeaseChange): void {
    const who = workerId === undefined ? '' : `Worker id ${workerId}: `;
    this.say(levelOf(from, to), `${who}${from} -> ${to}. ${reason}`);
  }

  warn(text: string): void {
    this.say('warn', text);
  }

  private say(level: Level, text: string): void {
    try {
      this.logger[level](text);
    } catch {
      process.emitWarning(`${text} (The logger of the application threw an error.)`, 'Snowflake');
    }
  }
}

function levelOf(from: LeaseChange['from'], to: LeaseChange['to']): Level {
  if (to === 'exhausted' || (to === 'unassigned' && from !== 'released')) return 'error';
  return to === 'active' || to === 'released' ? 'log' : 'warn';
}
