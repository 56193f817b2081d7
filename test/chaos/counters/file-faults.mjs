/**
 * The append-only file of a Redis with counters, switched off, or off and on again, before Redis
 * ends without a word: it comes back as the file says.
 */
import { storeFault } from '../stores/store-fault.mjs';
import { forgetGrants } from './forgotten-grants.mjs';

const STEP = 100;
const LOSS_GAP = 1000;
export const FEW = { stepMin: STEP, stepMax: STEP, lossGap: LOSS_GAP };
/** More than the jump after a loss makes good for. */
const GRANT_COUNT = LOSS_GAP / STEP + 2;

/** So long a rewrite takes for each key, which is longer than grants are waited for. */
const KEY_SAVE_US = 12_000_000;

/**
 * Nothing may be granted from the change on; it happened, whether anything was or not.
 * @param {any} topology @param {import('../fault.mjs').World} world
 * @param {(set: (name: string, value: string) => Promise<unknown>) => unknown} change
 */
async function forgotten({ node }, world, change) {
  const set = (/** @type {string} */ name, /** @type {string} */ value) =>
    node.admin.config('SET', name, value);
  await forgetGrants(world, {
    grantCount: GRANT_COUNT,
    keep: () => change(set),
    async forget() {
      await node.kill();
      await node.start();
    },
  });
}

export const FILE_FAULTS = [
  storeFault('append-only file switched off, then kill -9', (topology, world) =>
    forgotten(topology, world, (set) => set('appendonly', 'no')),
  ),
  storeFault('kill -9 in the first rewrite of that file', (topology, world) =>
    forgotten(topology, world, async (set) => {
      await set('rdb-key-save-delay', String(KEY_SAVE_US));
      await set('appendonly', 'no');
      await set('appendonly', 'yes');
    }),
  ),
];
