/**
 * What a process asks for at every call, with what it learned since it started.
 *
 * Promise: the longest quarantine any registry ever told it of goes with each request, over every
 * lease of its life, so that a registry which replaces a lost one learns of the longest lease.
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
