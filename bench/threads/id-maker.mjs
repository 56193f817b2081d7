// The IdMaker of a Nest application that shares the lease of its worker id with its threads.
//
// Guarantee: the application is closed when the work with it is through.
import { ScheduleModule } from '@nestjs/schedule';
import { withApplication } from '../harness/application.mjs';
import { WORKER_ID } from '../harness/generators.mjs';
import { importMain } from '../harness/library.mjs';

/** With a worker id of one's own the default would be 0. */
const AHEAD_MS_MAX = 1000;

/**
 * @template T
 * @param {import('nestjs-snowflake').BitLayout} layout
 * @param {(idMaker: import('nestjs-snowflake').IdMaker) => Promise<T>} use
 */
export async function withIdMaker(layout, use) {
  const { IdMaker, SnowflakeModule } = await importMain();
  const ids = { workerId: WORKER_ID, sharesLease: true, aheadMsMax: AHEAD_MS_MAX, layout };
  const imports = [ScheduleModule.forRoot(), SnowflakeModule.forRoot(ids)];
  return withApplication(imports, (application) => use(application.get(IdMaker)));
}
