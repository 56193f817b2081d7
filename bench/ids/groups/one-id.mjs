// Group: one id as each library gives it, and what goes wrong when it is asked without pauses.
//
// Guarantee: no ratio stands there as if it were fair where the library's ids are wrong.
import { inTurnsApart } from '../../harness/turns.mjs';
import { figure, median, span, times, bold } from '../../harness/figures.mjs';
import { faultsText, hasFaults, textsTally, wordsTally } from '../faults.mjs';
import { OURS, isOurs, makerNamed, makers } from '../makers.mjs';
import { BURST, nsPerCall } from '../timing.mjs';

const COLUMNS = [
  'library',
  'gives',
  'ns per id',
  'min–max',
  '× ours',
  'no duplicates',
  'faults in a tight loop',
];
const IDS = 2_000_000;
const LIMIT_MS = 1500;

function faultsOf(/** @type {import('../makers.mjs').OpenMaker} */ maker) {
  const tally = maker.bigint ? wordsTally(IDS) : textsTally(IDS);
  const next = maker.bigint ?? maker.text;
  const endsAt = performance.now() + LIMIT_MS;
  while (!tally.isFull && performance.now() < endsAt) tally.take(next);
  return tally.faults;
}

export async function measure(
  /** @type {string} */ name,
  /** @type {{ round: number }} */ { round },
) {
  const { open, perMs = BURST } = makerNamed(name);
  const maker = await open();
  const ns = nsPerCall(maker.next, { count: Math.min(BURST, perMs) });
  return round === 1 ? { ns, faults: faultsOf(maker) } : { ns };
}

/** The time of ids that are wrong is nothing to compare with, so their ratio is set apart. */
function ratioText(/** @type {string} */ ratio, { isFaulty, rival }) {
  if (isFaulty) return `(${ratio})`;
  return rival === undefined ? ratio : `${ratio} ← ${rival}`;
}

/** What each is first in; the peers are sorted by time, and none of them has faults. */
function rivalsAmong(/** @type {string[]} */ peers) {
  const fastest = peers[0];
  const snowflake = peers.find((name) => makerNamed(name).isSnowflake);
  const rivals = new Map([[fastest, 'fastest peer without faults']]);
  // The fastest of all may make ids of another kind, which do not fit into a bigint column.
  if (snowflake !== fastest) rivals.set(snowflake, 'fastest 64-bit peer without faults');
  return rivals;
}

async function run(/** @type {import('../../harness/turns.mjs').RunOptions} */ options) {
  const cases = makers.map(({ name }) => name);
  const byCase = await inTurnsApart({ file: import.meta.url, cases }, options);
  const nsOf = (/** @type {string} */ name) => median(byCase.get(name).map(({ ns }) => ns));
  const faultsIn = (/** @type {string} */ name) => byCase.get(name)[0].faults;
  const isFaulty = (/** @type {string} */ name) =>
    hasFaults(faultsIn(name), makerNamed(name).claimsOrder);
  const sorted = cases.toSorted((a, b) => nsOf(a) - nsOf(b));
  const rivals = rivalsAmong(sorted.filter((name) => !isOurs(name) && !isFaulty(name)));
  return sorted.map((name) => {
    const { gives, claimsOrder } = makerNamed(name);
    const ratio = times(nsOf(name), nsOf(OURS));
    return [
      isOurs(name) ? bold(name) : name,
      gives,
      figure(nsOf(name)),
      span(byCase.get(name).map(({ ns }) => ns)),
      ratioText(ratio, { isFaulty: isFaulty(name), rival: rivals.get(name) }),
      faultsIn(name).twice === 0 ? 'yes' : 'NO',
      faultsText(faultsIn(name), claimsOrder),
    ];
  });
}

export const oneId = {
  title: 'One id, as each library gives it',
  explanation:
    'The time of one id in a burst of 2048 (1024 for nodejs-snowflake, whose millisecond has no ' +
    'more) that begins with a fresh millisecond, so that nobody meets the ceiling of 4096 ids ' +
    'for each millisecond. ' +
    'The largest part of ours is Date.now() alone, as the table "The arithmetic alone" shows. ' +
    'The last two columns are about a tight loop of 2,000,000 ids, or of 1.5 s if that ends ' +
    'earlier, in the first round: whether every id was a different one, and all that went wrong. ' +
    'A ratio in parentheses is of a library with faults there, whose speed is no measure; to ' +
    'compare with is the fastest peer without faults, marked with an arrow, and where that one ' +
    'makes no 64-bit ids, also the fastest that does. ' +
    'simple-flakeid and cherry-id are set to 10 and 12 bits instead of their 6 and 6; cherry-id ' +
    'then returns numbers that cannot hold its ids. ' +
    '@tresdoce-nestjs-toolkit/snowflake-uid is left out: the npm registry answers 404.',
  columns: COLUMNS,
  run,
};
