// Worker threads that share the lease of their process, and one that leases a worker id of its own.
import { Logger } from '@nestjs/common';
import { Worker } from 'node:worker_threads';
import { startSnowflake } from 'nestjs-snowflake';

Logger.overrideLogger(false);
const support = process.env['SNOWFLAKE_SUPPORT']!;
const main = await startSnowflake({ support, sharesLease: true });

const idsOf = (workerData: object): Promise<string[]> =>
  new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData });
    worker.once('message', resolve).once('error', reject);
  });
const shared = { ids: main.ids.sharedLease };
const made = await Promise.all([idsOf(shared), idsOf(shared), idsOf(shared), idsOf({ support })]);
const all = [...made.flat(), ...main.ids.nextIdStrings(1000)];
const workerIds = new Set(all.map((id) => main.ids.parse(id).workerId));
await main.close();

console.log(JSON.stringify({ distinct: new Set(all).size, workerIds: [...workerIds].sort() }));
