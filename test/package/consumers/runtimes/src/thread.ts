// A thread of threads.ts.
import { Logger } from '@nestjs/common';
import { startSnowflake } from 'nestjs-snowflake';
import { joinSharedLease, type SharedLease } from 'nestjs-snowflake/core';
import { parentPort, workerData } from 'node:worker_threads';

Logger.overrideLogger(false);
if (workerData.ids === undefined) {
  const own = await startSnowflake({ support: workerData.support });
  const made = own.ids.nextIdStrings(1000);
  await own.close();
  parentPort!.postMessage(made);
} else {
  const ids = joinSharedLease((workerData as { ids: SharedLease }).ids);
  parentPort!.postMessage(ids.nextIds(1000).map(String));
}
