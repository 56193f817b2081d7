// A process that wants one lock again and again, and says of each turn when it asked, began and
// ended, by the monotonic clock that all processes of a machine share.
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '../lease/client-process.mjs';
import { STORES } from './waiting-stores.mjs';

let using;

async function open({ name, url }) {
  using = await STORES.find((store) => store.name === name).open(url);
}

const nowMs = () => Number(process.hrtime.bigint() / 1000n) / 1000;

async function want({ holdMs, restMs, forMs }) {
  const turns = [];
  const overMs = nowMs() + forMs;
  while (nowMs() < overMs) {
    const turn = { askedMs: nowMs(), begunMs: 0, endedMs: 0 };
    await using('turns', async () => {
      turn.begunMs = nowMs();
      await sleep(holdMs);
      turn.endedMs = nowMs();
    });
    turns.push(turn);
    // Without a rest it asks again at once.
    if (restMs > 0) await sleep(2 * restMs * Math.random());
  }
  return { turns, cpuMs: process.cpuUsage().user / 1000 + process.cpuUsage().system / 1000 };
}

serve({ open, want });
