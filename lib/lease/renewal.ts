/**
 * One renewal: what is asked, whether the answer is valid, and what is recorded.
 *
 * Promise: an answer is passed on together with what it was asked for, even if it comes after the
 * time limit.
 */
import type { AskedTerms } from './asked-terms.js';
import { checkedAnswer } from './check-answer.js';
import type { ClockSkew } from './clock-skew.js';
import type { IDistributedSupport, LeaseAnswer, WorkerLease } from './distributed-support.js';
import { RenewalRecord } from './renewal-record.js';
import type { SupportCaller } from './support-caller.js';

interface RenewalParts {
  readonly support: IDistributedSupport;
  readonly terms: AskedTerms;
  readonly caller: SupportCaller;
  readonly skew: ClockSkew;
}

/** An answer and what it was asked for. */
export interface Renewed {
  readonly answer: LeaseAnswer;
  readonly asked: WorkerLease;
  /** By the host's clock, Unix ms. */
  readonly sentAtMs: number;
  /** By its monotonic clock. */
  readonly askedAtMs: number;
}

export class Renewal {
  readonly record = new RenewalRecord();

  constructor(private readonly parts: RenewalParts) {}

  /** @throws SnowflakeError where the support failed, answered nonsense or came too late. */
  async ask(lease: WorkerLease, apply: (renewed: Renewed) => Promise<void>): Promise<void> {
    const { support, terms, caller, skew } = this.parts;
    const { record } = this;
    const asked = { ...lease, ...terms.now };
    const { workerId, haveMs } = asked;
    const { askedAtMs } = terms;
    const sentAtMs = skew.hostNowMs;
    const checked = (given: LeaseAnswer): Renewed => {
      const answer = checkedAnswer(given, { min: workerId, max: workerId, haveMs });
      return { answer, asked, sentAtMs, askedAtMs };
    };
    const late = async (given: LeaseAnswer) => {
      const renewed = checked(given);
      record.noteLate(renewed.answer.status, skew.hostNowMs);
      await apply(renewed);
    };
    const consequence = 'The range already leased lasts; the call is repeated.';
    try {
      const answer = await caller.call(() => support.refreshAlive(asked), { late, consequence });
      const renewed = checked(answer);
      record.note(renewed.answer.status, sentAtMs, skew.hostNowMs);
      await apply(renewed);
    } catch (error) {
      record.note('error', sentAtMs, skew.hostNowMs);
      throw error;
    }
  }
}
