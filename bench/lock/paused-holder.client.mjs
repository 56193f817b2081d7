// A holder that is paused by a signal: it says that it holds the lock, and later what it believed
// when it went on, and what its caller heard.
import { setTimeout as sleep } from 'node:timers/promises';
import { serve } from '../lease/client-process.mjs';
import { wayOf } from './ways.mjs';

/** The first step that took so long is the one in which it was paused. */
const [STEP_MS, PAUSED_MS] = [2, 1000];

/** @type {Promise<{ believed: boolean, heard: string }>} */
let outcome;

async function hold({ name, url, terms, lock }) {
  const holding = await wayOf(name)?.open(url, terms);
  return new Promise((resolve) => {
    outcome = heldBy(holding, lock, () => resolve(process.pid));
  });
}

async function heldBy(holding, lock, begun) {
  let believed = false;
  const heard = await holding
    .using(lock, async ({ believes }) => {
      begun();
      for (let last = performance.now(); ; last = performance.now()) {
        await sleep(STEP_MS);
        if (performance.now() - last < PAUSED_MS) continue;
        believed = believes();
        return;
      }
    })
    .then(
      () => 'nothing',
      (error) => error.code ?? error.name,
    );
  return { believed, heard };
}

serve({ hold, outcome: () => outcome });
