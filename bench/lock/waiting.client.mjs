// A process that wants one lock again and again, and says how long it waited for it each time.
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '../lease/client-process.mjs';
import { STORES } from './waiting-stores.mjs';

let using;

async function open({ name, url }) {
  using = await STORES.find((store) => store.name === name).open(url);
}

async function want({ holdMs, restMs, forMs }) {
  const waits = [];
  const endMs = performance.now() + forMs;
  while (performance.now() < endMs) {
    const askedMs = performance.now();
    await using('turns', async () => {
      waits.push(performance.now() - askedMs);
      await sleep(holdMs);
    });
    // Without a rest it asks again at once.
    if (restMs > 0) await sleep(2 * restMs * Math.random());
  }
  return waits;
}

serve({ open, want });
