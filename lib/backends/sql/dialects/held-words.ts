/**
 * What a table holds, in the words of an advice: the dialects name what is at stake, and only these
 * words differ between a registry, counters and locks.
 */
import type { SqlTable } from './dialect.js';

type Words = Readonly<Record<SqlTable['holds'], string>>;

export const GRANTED: Words = { registry: 'leases', counters: 'positions', locks: 'locks' };

/** What follows where a loss of data is noticed. */
export const AFTER_LOSS: Words = {
  registry: 'ids stay unique, and run ahead for a while after it',
  counters: 'ids stay unique, and leave a gap',
  locks: 'those who hold a lock are told that it is lost, and no lock is granted for a while',
};
