/**
 * A loss of data together with another epoch or layout: the registry has then forgotten which one
 * it was for. Ids of both lie in one id space, so whole ids are compared.
 */

/** @import { Stage } from './stage.mjs' */

const LATER = '2024-01-01T00:00:04Z';
const OTHER_FIELDS = [
  ['timestamp', 41],
  ['worker', 4],
  ['sequence', 11],
];
const REFUSED = { code: /^LAYOUT_MISMATCH$/, words: [/layout/i, /namespace/i] };
/** A lease of the registry that was lost has ended by then. */
const LONG_MS = 11_500;

/**
 * A process of another layout is started just after a flush, while processes of the right one run.
 * @param {object} other what it is given beside the address
 */
const playOther = (other) => async (/** @type {Stage} */ stage) => {
  const { admin, port } = await stage.redis();
  const support = `redis://127.0.0.1:${port}`;
  await Promise.all([1, 2, 3].map(() => stage.runs({ support })));
  // Warm before the flush, so that it asks as soon after it as the holders do.
  const wrong = stage.process();
  await stage.isRefused({ support, ...other }, REFUSED, wrong);
  await admin.flushall();
  const lease = { startTimeoutMs: 8000 };
  await stage.isRefused({ support, ...other, lease }, REFUSED, wrong);
  await stage.sleep(LONG_MS);
};

export const playOtherEpoch = playOther({ epoch: LATER });
export const playOtherLayout = playOther({ fields: OTHER_FIELDS });
