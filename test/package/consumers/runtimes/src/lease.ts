// A worker ID that is leased from a store, renewed, and released.
import { Logger } from '@nestjs/common';
import { startSnowflake } from 'nestjs-snowflake';

Logger.overrideLogger(false);
const options = { support: process.env['SNOWFLAKE_SUPPORT']!, refreshAliveIntervalMs: 100 };
const [one, other] = [await startSnowflake(options), await startSnowflake(options)];
const workerIds = new Set([one, other].map(({ ids }) => ids.status.workerId));
const ids = [...one.ids.nextIds(1000), ...other.ids.nextIds(1000)];
while (one.ids.status.renewals.lastAt === undefined) {
  // Waits for the first renewal.
  await new Promise((resolve) => setTimeout(resolve, 10));
}
const { state } = one.ids.status;
await one.close();
const next = await startSnowflake(options);
const isWorker = next.ids.status.workerId !== undefined;
await Promise.all([other.close(), next.close()]);

const workerIdCount = workerIds.size;
console.log(JSON.stringify({ workerIdCount, isWorker, state, distinct: new Set(ids).size }));
