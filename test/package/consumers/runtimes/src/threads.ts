// Worker threads that share the lease of their process, and one with its own worker ID.
import { Logger } from '@nestjs/common';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { startSnowflake } from 'nestjs-snowflake';
import { joinSharedLease, type SharedLease } from 'nestjs-snowflake/core';

Logger.overrideLogger(false);
if (isMainThread) await main();
else parentPort!.postMessage(await made());

async function main(): Promise<void> {
  const support = process.env['SNOWFLAKE_SUPPORT']!;
  const own = await startSnowflake({ support, sharesLease: true });
  const shared = { ids: own.ids.sharedLease };
  const given = [shared, shared, shared, { support }];
  const all = [...(await Promise.all(given.map(idsOf))).flat(), ...own.ids.nextIdStrings(1000)];
  const workerIds = new Set(all.map((id) => own.ids.parse(id).workerId));
  await own.close();
  console.log(JSON.stringify({ distinct: new Set(all).size, workerIdCount: workerIds.size }));
}

function idsOf(given: object): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), { workerData: given });
    worker.once('message', resolve).once('error', reject);
  });
}

/** The IDs of a thread, from the shared lease or from its own. */
async function made(): Promise<string[]> {
  if (workerData.ids !== undefined) {
    return joinSharedLease((workerData as { ids: SharedLease }).ids)
      .nextIds(1000)
      .map(String);
  }
  const own = await startSnowflake({ support: workerData.support });
  const ids = own.ids.nextIdStrings(1000);
  await own.close();
  return ids;
}
