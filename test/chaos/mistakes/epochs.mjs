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
 * A process of another layout is the first to come after a flush, while others of the right one
 * are alive and make ids.
 * @param {object} other what it is given beside the address
 */
const playOther = (other) => async (/** @type {Stage} */ stage) => {
  const { admin, port } = await stage.redis();
  const support = `redis://127.0.0.1:${port}`;
  const holders = await Promise.all([1, 2, 3].map(() => stage.runs({ support })));
  const wrong = stage.process();
  await stage.isRefused({ support, ...other }, REFUSED, wrong);
  const signal = (/** @type {NodeJS.Signals} */ name) => {
    for (const { member } of holders) member.child.kill(name);
  };
  signal('SIGSTOP');
  await admin.flushall();
  const lease = { startTimeoutMs: 8000 };
  const refused = stage.isRefused({ support, ...other, lease }, REFUSED, wrong);
  await stage.until(async () => (await admin.dbsize()) === 1);
  signal('SIGCONT');
  await refused;
  await stage.sleep(LONG_MS);
};

export const playOtherEpoch = playOther({ epoch: LATER });
export const playOtherLayout = playOther({ fields: OTHER_FIELDS });
