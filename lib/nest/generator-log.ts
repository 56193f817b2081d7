/**
 * What a generator writes to the application's logger: one line for each change of its lease.
 *
 * Promise: a line is one line and steers no terminal, whatever the store or a configuration put
 * into it. A logger that throws does no harm: the line becomes a warning of Node instead.
 */
import { Logger } from '@nestjs/common';
import type { LeaseState } from '../lease/lease-states.js';
import { printable } from '../shown.js';

/** One change of state, of a lease or of a generator without one. */
interface Change {
  readonly from: LeaseState;
  readonly to: LeaseState;
  readonly workerId?: number | undefined;
  readonly reason: string;
}

type Level = 'log' | 'warn' | 'error';

export class GeneratorLog {
  private readonly logger: Logger;

  constructor(name: string | undefined) {
    this.logger = new Logger(name === undefined ? 'Snowflake' : `Snowflake:${name}`);
  }

  /** A warning where an operator should check something, an error where ids stop. */
  change({ from, to, workerId, reason }: Change): void {
    const who = workerId === undefined ? '' : `Worker id ${workerId}: `;
    this.write(levelOf(from, to), `${who}${from} -> ${to}. ${reason}`);
  }

  warn(text: string): void {
    this.write('warn', text);
  }

  private write(level: Level, text: string): void {
    const line = printable(text);
    try {
      this.logger[level](line);
    } catch {
      process.emitWarning(`${line} (The application's logger threw an error.)`, 'Snowflake');
    }
  }
}

function levelOf(from: LeaseState, to: LeaseState): Level {
  if (to === 'exhausted' || (to === 'unassigned' && from !== 'released')) return 'error';
  return to === 'active' || to === 'released' ? 'log' : 'warn';
}
