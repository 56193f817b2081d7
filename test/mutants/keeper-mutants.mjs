/**
 * Broken variants of what a keeper tells the application of its worker id, as edits of the real
 * source. test/lease/worker-id-change.spec.ts must notice each.
 */
/** @import { Mutant } from './load-library.mjs' */

const KEEPER = 'lease/lease-keeper.ts';

/** @type {readonly Mutant[]} */
export const KEEPER_MUTANTS = [
  {
    name: 'a move from one worker id to another is not told',
    edits: [
      {
        file: KEEPER,
        find: 'if (from !== to) quietly',
        put: 'if (from === undefined || to === undefined) quietly',
      },
    ],
  },
  {
    name: 'a process without a worker id is told that it has none',
    edits: [{ file: KEEPER, find: 'if (from !== to) quietly', put: 'quietly' }],
  },
  {
    name: 'a loss is told while ids can still be made',
    edits: [
      {
        file: KEEPER,
        find: `    this.parts.window.vacate(() => refusal);
    this.hold(undefined, 'dropped', refusal.message);`,
        put: `    this.hold(undefined, 'dropped', refusal.message);
    this.parts.window.vacate(() => refusal);`,
      },
    ],
  },
  {
    name: 'the end is told while ids can still be made',
    edits: [
      {
        file: KEEPER,
        find: `    window.close(texts.stopped);
    this.hold(undefined, 'released', 'The application is shutting down.');`,
        put: `    this.hold(undefined, 'released', 'The application is shutting down.');
    window.close(texts.stopped);`,
      },
    ],
  },
  {
    name: 'the application is told before the status shows it',
    edits: [
      {
        file: KEEPER,
        find: `    this.lease = lease;
    this.change(event, reason);
    this.news.reportWorkerId(this.workerId, reason);`,
        put: `    this.news.reportWorkerId(lease?.workerId, reason);
    this.lease = lease;
    this.change(event, reason);`,
      },
    ],
  },
];
