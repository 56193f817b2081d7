/**
 * What operators type: OPERATOR_PASSWORD; without it, while the shop listens on this machine alone,
 * a password that is new at each start and stands in its log; else there is none.
 */
import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { readConfig, type Config } from '../config.js';

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|::1)$/i;

@Injectable()
export class OperatorPassword {
  /** Undefined if nobody is admitted. */
  readonly text: string | undefined;
  /** A line for the log. */
  readonly hint: string;

  constructor() {
    const { host, operatorPassword } = readConfig();
    this.text = operatorPassword ?? passwordOfThisRun(host);
    this.hint = hintOn(operatorPassword, this.text);
  }
}

function passwordOfThisRun(host: Config['host']): string | undefined {
  return LOOPBACK.test(host) ? randomBytes(12).toString('hex') : undefined;
}

function hintOn(configured: string | undefined, text: string | undefined): string {
  if (configured !== undefined) return 'any user, password OPERATOR_PASSWORD';
  if (text !== undefined) return `any user, password ${text}, until the next start`;
  return 'the shop listens beyond this machine, so set OPERATOR_PASSWORD and start it again';
}
