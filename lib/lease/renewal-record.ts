/**
 * What became of the renewals, for status, metrics and dashboard: calls to a store by the answers
 * of its contract.
 */
import { CallRecord } from '../patience/call-record.js';
import type { LeaseAnswer } from './distributed-support.js';

/** What the store answered, or 'error' where it did not. */
export type RenewalOutcome = LeaseAnswer['status'] | 'error';

export class RenewalRecord extends CallRecord<RenewalOutcome> {}
