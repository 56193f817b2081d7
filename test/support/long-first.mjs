// The order of the spec files: the longest first, so that none of them is what the rest waited for.
import Sequencer from '@jest/test-sequencer';

/** Which take longest, the longest first. Jest remembers times, but not in a fresh clone. */
export const LONGEST = [
  'test/package/package.spec.ts',
  'test/site/site.spec.ts',
  'test/package/nest-add.spec.ts',
  'test/package/newcomers.spec.ts',
  'test/lock/fencing.spec.ts',
  'test/sample-app/cron-job.spec.ts',
  'test/sample-app/sample-app.spec.ts',
  'test/contract/embedded-sql.spec.ts',
  'test/contract/etcd.spec.ts',
  'test/segments/real-stores.spec.ts',
  'test/simulation/mutants.spec.ts',
  'test/dashboard/access.spec.ts',
  'test/lock/etcd-lock-cluster.spec.ts',
  'test/lock/etcd-locks.spec.ts',
  'test/simulation/simulation.spec.ts',
  'test/stores/sql-functions.spec.ts',
  'test/stores/ioredis-6.spec.ts',
  'test/site/chinese.spec.ts',
  'test/site/reference.spec.ts',
  'test/cli/locks.spec.ts',
  'test/package/runtimes.spec.ts',
  'test/lock/sql-locks.spec.ts',
  'test/nest/bullmq.spec.ts',
  'test/simulation/limits.spec.ts',
  'test/orm/prisma/guide.spec.ts',
  'test/sample-app/stores.spec.ts',
  'test/lock/sql-locks.spec.ts',
  'test/docs/snippets.spec.ts',
  'test/stores/folder.spec.ts',
  'test/security/failures.spec.ts',
  'test/contract/folder.spec.ts',
  'test/sample-app/operations.spec.ts',
  'test/model/model.spec.ts',
];

export default class LongFirst extends Sequencer {
  /** @param {import('@jest/test-result').Test[]} tests */
  sort(tests) {
    return super.sort(tests).toSorted((one, other) => placeOf(one) - placeOf(other));
  }
}

/** @returns {number} the same for all that are not among the longest: their order stays */
function placeOf(/** @type {import('@jest/test-result').Test} */ { path }) {
  const location = LONGEST.findIndex((spec) => path.endsWith(`/${spec}`));
  return location === -1 ? LONGEST.length : location;
}
