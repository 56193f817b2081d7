// The order of the spec files: the longest first, so that none of them is what the rest waited for.
import Sequencer from '@jest/test-sequencer';

/** Which take longest, the longest first. Jest remembers times, but not in a fresh clone. */
export const LONGEST = [
  'test/package/nest-add.spec.ts',
  'test/package/package.spec.ts',
  'test/package/runtimes.spec.ts',
  'test/lock/fencing.spec.ts',
  'test/contract/etcd.spec.ts',
  'test/sample-app/sample-app.spec.ts',
  'test/orm/prisma/guide.spec.ts',
  'test/site/site.spec.ts',
  'test/site/chinese.spec.ts',
  'test/registry/concurrent-walk.spec.ts',
  'test/sample-app/stores.spec.ts',
  'test/simulation/simulation.spec.ts',
  'test/simulation/mutants.spec.ts',
  'test/dashboard/read-id.spec.ts',
  'test/dashboard/access.spec.ts',
  'test/segments/real-stores.spec.ts',
  'test/contract/embedded-sql.spec.ts',
  'test/lock/lock-simulation.spec.ts',
  'test/lock/etcd-locks.spec.ts',
  'test/lock/etcd-lock-cluster.spec.ts',
  'test/contract/broken-supports.spec.ts',
  'test/contract/folder.spec.ts',
  'test/simulation/limits.spec.ts',
  'test/dashboard/truth.spec.ts',
  'test/backends/ioredis-6.spec.ts',
  'test/nest/bullmq.spec.ts',
  'test/orm/typeorm/pglite.spec.ts',
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
  const place = LONGEST.findIndex((spec) => path.endsWith(`/${spec}`));
  return place === -1 ? LONGEST.length : place;
}
