/**
 * What a process asks for at every call, including what it has learned since it started.
 *
 * Promise: every request carries the longest quarantine that any registry has reported to this
 * process, so that a registry which replaces a lost one learns of the longest lease.
 */
import type { LeaseAnswer, LeaseTerms } from './distributed-support.js';

export class AskedTerms {
  private quarantineMs: number;

  constructor(private readonly terms: LeaseTerms) {
    this.quarantineMs = terms.quarantineMs;
  }

  get now(): LeaseTerms {
    return { ...this.terms, quarantineMs: this.quarantineMs };
  }

  /** An answer counts however late it comes. */
  heard(answer: LeaseAnswer): void {
    if (answer.status !== 'ok' || !Number.isFinite(answer.quarantineMs)) return;
    this.quarantineMs = Math.max(this.quarantineMs, answer.quarantineMs!);
  }
}
