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

/** Another epoch is deployed just after a flush, while processes of the right one run. */
export async function playOtherEpoch(/** @type {Stage} */ stage) {
  const { admin, port } = await stage.redis();
  const support = `redis://127.0.0.1:${port}`;
  await Promise.all([1, 2, 3].map(() => stage.runs({ support })));
  await stage.sleep(1000);
  const [one, two] = [stage.process(), stage.process()];
  // The processes are warm, so that nothing lies between the flush and the first request.
  const plain = [one, two].map((member) => stage.start({ support, epoch: LATER }, member));
  for (const outcome of await Promise.all(plain)) stage.judgeRefusal(outcome, REFUSED);
  await admin.flushall();
  const lease = { startTimeoutMs: 8000 };
  const late = [
    stage.start({ support, epoch: LATER, lease }, one),
    stage.start({ support, fields: OTHER_FIELDS, lease }, two),
  ];
  for (const outcome of await Promise.all(late)) stage.judgeRefusal(outcome, REFUSED);
  await stage.sleep(LONG_MS);
}
