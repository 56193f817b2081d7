/**
 * Reads the records of cron jobs and finds errors: a repeated, settled tick, a missed tick without
 * an excuse, and a falling token. Each tick must have one effect. Also checks the rules between the
 * replicas of a fleet.
 */
import { eventsIn } from './report.mjs';

/** @param {string} folder @returns as `checkFolder` does, with cron runs */
export function checkRuns(folder) {
  const events = eventsIn(folder);
  const runs = events.filter(({ kind }) => kind === 'run').toSorted((a, b) => a.atMs - b.atMs);
  const jobs = [...new Set(runs.map(({ lock }) => lock))];
  const of = (/** @type {string} */ wanted) => events.filter(({ kind }) => kind === wanted);
  const [settled, losses, rolls, effects, refused] = [
    'settled',
    'loss',
    'rolled',
    'effect',
    'refused',
  ].map(of);
  const found = jobs.map((job) => {
    const ofJob = (/** @type {any} */ { lock }) => lock === job;
    const own = { settled: settled.filter(ofJob), effects: effects.filter(ofJob), losses, rolls };
    return faultsOfJob(runs.filter(ofJob), own);
  });
  const twice = found.flatMap((each) => each.twice);
  const sum = (/** @type {(each: typeof found[0]) => number} */ of) =>
    found.reduce((total, each) => total + of(each), 0);
  return {
    idCount: runs.length,
    duplicateCount: twice.length,
    duplicates: twice.slice(0, 5),
    disorderCount: sum(({ missedCount, fallenCount }) => missedCount + fallenCount),
    leaseCount: runs.length,
    gaps: [],
    ...(effects.length > 0 && {
      effects: {
        jobCount: jobs.length,
        tickCount: sum(({ tickCount }) => tickCount),
        effectCount: effects.length,
        refusedCount: refused.length,
        lossCount: losses.length,
        againCount: sum(({ againCount }) => againCount),
        leftOutCount: sum(({ leftOutCount }) => leftOutCount),
      },
    }),
  };
}

/** The longest time between a grant and its run: the limit of a call. */
const GRANTED_MS = 1000;
/** The interval of a job of each second. */
const EVERY_MS = 1000;

/**
 * Events of one job: the notes that its store confirmed, the rows of its effects, data losses, and
 * rollouts.
 * @typedef {Readonly<Record<'settled' | 'effects' | 'losses' | 'rolls', readonly any[]>>} Seen
 */

/**
 * For one job: runs of a settled tick, missed ticks that no run reports as left out, and falling
 * tokens. If a table takes the effects, also ticks with no effect or two. After a loss, each lost
 * tick may run again, the last tick may repeat once, and new processes begin a new record.
 * @param {readonly any[]} runs
 * @param {Seen} seen
 */
function faultsOfJob(runs, seen) {
  const { settled, effects, losses } = seen;
  const confirmedBefore = (/** @type {number} */ atMs) =>
    settled.filter((event) => event.atMs < atMs);
  const again = runs.filter(({ tickMs, atMs }) =>
    confirmedBefore(atMs).some(({ settledMs }) => settledMs >= tickMs),
  );
  const onceMore = new Set();
  const isAfterLoss = (/** @type {any} */ { tickMs, atMs }) => {
    const firstMs = confirmedBefore(atMs).find(({ settledMs }) => settledMs >= tickMs).atMs;
    // What a store confirmed during a loss may be gone, even if another loss followed.
    const before = losses.filter(({ fromMs }) => fromMs <= atMs);
    if (before.some(({ fromMs, toMs }) => firstMs >= fromMs && firstMs <= toMs)) return true;
    const loss = before.at(-1);
    if (loss === undefined) return false;
    return !onceMore.has(loss) && onceMore.add(loss) !== undefined;
  };
  const faulty = again.filter((run) => !isAfterLoss(run));
  const { ticks, twiceInTable, ...open } = openIn(runs, seen);
  let fallenCount = 0;
  let highest = 0n;
  for (const { token } of runs) {
    if (BigInt(token) <= highest) fallenCount++;
    else highest = BigInt(token);
  }
  return {
    twice: [
      ...faulty.map(
        ({ lock, tickMs, file, atMs }) =>
          `${lock} for ${tickMs} by ${file} at ${atMs}, which was settled, with the last loss at ` +
          `${losses.findLast(({ fromMs }) => fromMs <= atMs)?.fromMs}`,
      ),
      ...twiceInTable.map((tick) => `${effects[0].lock} for ${tick} in the table of effects`),
    ],
    missedCount: open.missedCount,
    fallenCount,
    tickCount: ticks.size,
    againCount: again.length,
    leftOutCount: open.leftOutCount,
  };
}

/**
 * Ticks without a run, and ticks with no effect or two in the table.
 * @param {readonly any[]} runs
 * @param {Seen} seen
 */
function openIn(runs, { settled, effects, losses, rolls }) {
  const everyOf = new Map(runs.map(({ tickMs, everyMs = EVERY_MS }) => [tickMs, everyMs]));
  const all = [...everyOf.keys()].toSorted((a, b) => a - b);
  const leftOut = new Set(
    runs.flatMap(({ tickMs, skippedCount, everyMs = EVERY_MS }) =>
      Array.from({ length: skippedCount }, (_, at) => tickMs - everyMs * (at + 1)),
    ),
  );
  // Each version has its own ticks.
  const missed = all.slice(1).flatMap((ms, at) => {
    const [before, everyMs] = [all[at] ?? ms, Math.max(everyOf.get(all[at]), everyOf.get(ms))];
    const first = (Math.floor(before / everyMs) + 1) * everyMs;
    const count = Math.max(0, Math.ceil((ms - first) / everyMs));
    return Array.from({ length: count }, (_, n) => first + n * everyMs);
  });
  const givenUp = new Set(settled.flatMap((event) => event.givenUp ?? []));
  // The loss or rollout came after the grant of an earlier tick, and before the run of a later one.
  const isExcused = (/** @type {number} */ ms) => {
    const before = Math.max(0, ...runs.filter(({ tickMs }) => tickMs <= ms).map((run) => run.atMs));
    const after = Math.min(...runs.filter(({ tickMs }) => tickMs > ms).map((run) => run.atMs));
    const isBetween = [...losses, ...rolls].some(
      ({ fromMs, toMs }) => fromMs <= after && toMs + GRANTED_MS >= before,
    );
    return leftOut.has(ms) || givenUp.has(ms) || isBetween;
  };
  const missedCount = missed.filter((ms) => !isExcused(ms)).length;
  const inTable = new Set(effects.map(({ tick }) => Number(tick)));
  const twiceInTable = [...inTable].filter(
    (tick) => effects.filter((row) => Number(row.tick) === tick).length > 1,
  );
  // The last tick of each process may still be running.
  const settledMs = Math.max(0, ...settled.map((event) => event.settledMs));
  const without = all.filter((ms) => ms <= settledMs && !inTable.has(ms) && !isExcused(ms));
  const withoutCount = effects.length === 0 ? 0 : without.length;
  return {
    ticks: everyOf,
    twiceInTable,
    missedCount: missedCount + withoutCount,
    leftOutCount: missed.length,
  };
}

/** How often a job tries a tick: the default of `attempts`. */
const TRIES = 3;
/** After this many losses in a row a job waits, first for `WAIT_MS`, then double each time. */
const LOSSES = 2;
const WAIT_MS = 60_000;
/** How far the clock of a host may be behind that of its store. */
const BEHIND_MS = 1000;
/** The machine's clock may be adjusted by this during a run. */
const ADJUSTED_MS = 50;

/**
 * Checks the rules between the replicas of a fleet, besides the ticks of each job. No job runs
 * before its time, a job that ends its process ends few, and two applications learn of each other.
 * @param {string} folder @returns {string[]} the errors
 */
export function checkFleet(folder) {
  const events = eventsIn(folder);
  const of = (/** @type {string} */ wanted) => events.filter(({ kind }) => kind === wanted);
  const [runs, losses, [wall]] = [of('run'), of('loss'), of('wall')];
  const latestMs = wall.aheadMs + BEHIND_MS + ADJUSTED_MS;
  const early = runs.filter(({ tickMs, atMs }) => tickMs > atMs + latestMs);
  return [
    ...early.map(({ lock, tickMs, file }) => `${lock} for ${tickMs} by ${file}: too early`),
    ...poisonedIn(of('poison'), losses),
    ...(of('shared').length > 0 ? [] : ['no application was told of the other one']),
  ];
}

/** A store that loses its data also loses the count of attempts, at some moment of the fault. */
function poisonedIn(/** @type {any[]} */ poisoned, /** @type {readonly any[]} */ losses) {
  const ends = losses.flatMap(({ fromMs, toMs }) => [fromMs, toMs]);
  const lifeOf = (/** @type {any} */ { atMs }) => ends.filter((endMs) => endMs <= atMs).length;
  return [...new Set(poisoned.map(lifeOf))].flatMap((life) => {
    const runs = poisoned.filter((run) => lifeOf(run) === life);
    const times = runs.map(({ atMs }) => atMs);
    const spanMs = Math.max(...times) - Math.min(...times);
    const isLosing = losses.some(({ fromMs, toMs }) =>
      times.some((atMs) => fromMs <= atMs && atMs <= toMs),
    );
    const recordCount = isLosing ? 2 : 1;
    const countMax = recordCount * (LOSSES + Math.floor(Math.log2(spanMs / WAIT_MS + 1)));
    const most = Math.max(
      ...runs.map(({ tickMs }) => runs.filter((run) => run.tickMs === tickMs).length),
    );
    if (runs.length <= countMax && most <= recordCount * TRIES) return [];
    return [`${runs.length} processes ended in ${Math.round(spanMs)} ms, ${most} for one tick`];
  });
}
