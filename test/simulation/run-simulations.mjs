/**
 * Runs simulations in order on all cores until the list ends or enough was seen. Judges mutants by
 * them, checks their registries against the proved rules, and adds up the reports.
 */
import { availableParallelism } from 'node:os';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { loadSimulation } from '../mutants/load-library.mjs';
import { Follower } from '../proof/follow.mjs';
import { registryInMemory } from '../proof/registries.mjs';
import {
  BROKEN_VARIANTS,
  REGISTRY_MUTANTS,
  SAFE_VARIANTS,
  TIME_MUTANTS,
} from '../mutants/mutants.mjs';
import { RULE_MUTANTS } from '../mutants/registry-mutants.mjs';

/** @import { RecordEvent, SimulationReport, StoreEvent } from './world/index.js' */
/** @import { Followed } from '../proof/follow.mjs' */
/** @import { Edit, Mutant } from '../mutants/load-library.mjs' */

/** @typedef {{ seed: number, scenario: string, rows?: boolean, follows?: boolean }} Run */
/** @typedef {{ run: Run, edits: readonly Edit[], records: boolean }} Question */
/**
 * Includes the calls of the registry, and the check against the proved rules, if requested.
 *
 * @typedef {object} Answer
 * @property {Run} run
 * @property {SimulationReport} report
 * @property {StoreEvent[]} events
 * @property {Followed} followed
 */

// Threads that run simulations. They are kept, since starting a thread takes longer than most
// mutants need to die.

/** Marks a thread of the class below. */
const SIMULATES = 'simulates';

export class SimulationThreads {
  /** @type {Worker[]} */
  #all = [];
  /** @type {Worker[]} */
  #idle = [];

  /**
   * Gives a question to an idle thread, or to a new one.
   *
   * @returns {Promise<Answer>}
   */
  async ask(/** @type {Question} */ question) {
    const worker = this.#idle.pop() ?? this.#started();
    const answer = await new Promise((resolve, reject) => {
      worker.removeAllListeners();
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.postMessage(question);
    });
    // A thread that threw is gone.
    this.#idle.push(worker);
    return answer;
  }

  async close() {
    await Promise.all(this.#all.map((worker) => worker.terminate()));
  }

  #started() {
    const worker = new Worker(new URL(import.meta.url), { workerData: SIMULATES });
    this.#all.push(worker);
    return worker;
  }
}

if (workerData === SIMULATES) {
  // The fleet creates thousands of errors, and their stack traces are unused.
  Error.stackTraceLimit = 0;
  // A simulation does no I/O. A tick settles every promise like a turn of the event loop, at a
  // third of the cost.
  Object.assign(globalThis, { setImmediate: process.nextTick.bind(process) });
  /** @type {Map<string, ReturnType<typeof loadSimulation>>} by the text of the edits */
  const loaded = new Map();
  const answer = async (/** @type {Question} */ { run, edits, records }) => {
    const text = JSON.stringify(edits);
    const simulation = loaded.get(text) ?? loadSimulation(edits);
    loaded.set(text, simulation);
    /** @type {StoreEvent[]} */
    const events = [];
    const follower = new Follower();
    /** @type {RecordEvent} */
    const record = (event, state) => {
      if (records && event.kind !== 'sent' && event.kind !== 'heard') events.push(event);
      if (run.follows) follower.note(event, (before) => registryInMemory(state, before));
    };
    const { simulate } = await simulation;
    const isRecorded = records || run.follows === true;
    const report = await simulate({ ...run, record: isRecorded ? record : undefined });
    parentPort?.postMessage({ run, report, events, followed: follower.followed });
  };
  parentPort?.on('message', (/** @type {Question} */ question) => void answer(question));
}

/** New code is slow at first, so an additional thread needs enough runs. */
const RUNS_PER_THREAD = 60;

/** @typedef {(report: SimulationReport, answer: Answer) => boolean | void} OnReport */

/**
 * @param {readonly Run[]} runs
 * @param {object} options
 * @param {readonly Edit[]} [options.edits] of a mutant
 * @param {SimulationThreads} [options.threads] default: new ones, closed at the end
 * @param {boolean} [options.records] whether `onReport` receives the calls of the registry
 * @param {OnReport} options.onReport returns true to stop
 * @returns {Promise<void>}
 */
export async function runSimulations(runs, options) {
  const worthCount = Math.ceil(runs.length / RUNS_PER_THREAD);
  const threadCount = Math.min(availableParallelism(), worthCount);
  const { edits = [], records = false, onReport } = options;
  const { threads = new SimulationThreads() } = options;
  const queue = runs.values();
  let isOver = false;
  const work = async () => {
    for (const run of queue) {
      if (isOver) return;
      const answer = await threads.ask({ run, edits, records });
      if (!isOver && onReport(answer.report, answer) === true) isOver = true;
    }
  };
  try {
    await Promise.all(Array.from({ length: threadCount }, work));
  } finally {
    if (threads !== options.threads) await threads.close();
  }
}

// Tries mutants in the simulation. A broken variant must break uniqueness visibly, and a safe one
// must not.

/**
 * @typedef {object} Verdict
 * @property {string} name
 * @property {boolean} isKilled
 * @property {boolean} isAsExpected
 * @property {number} triedCount runs up to the one that killed it
 * @property {string} killedBy the run
 * @property {string} seen the kind of violation
 */

/** Without ids for a while, a fleet is not happy, but no id was generated twice. */
const HARMLESS = new Set(['liveness']);

/** All scenarios with one seed, then with the next, so that each kind of fault comes early. */
export function runsOf(/** @type {readonly string[]} */ scenarios, /** @type {number[]} */ seeds) {
  return seeds.flatMap((seed) => scenarios.map((scenario) => ({ seed, scenario })));
}

/**
 * @param {readonly Run[]} runs
 * @param {(verdict: Verdict) => void} onVerdict
 * @param {(name: string) => boolean} [isWanted]
 */
export async function judgeMutants(runs, onVerdict, isWanted = () => true) {
  const threads = new SimulationThreads();
  for (const mutant of BROKEN_VARIANTS.filter(({ name }) => isWanted(name))) {
    onVerdict(await judgeMutant(mutant, runs, { shouldDie: true, threads }));
  }
  for (const mutant of SAFE_VARIANTS.filter(({ name }) => isWanted(name))) {
    onVerdict(await judgeMutant(mutant, runs, { shouldDie: false, threads }));
  }
  await threads.close();
}

/**
 * @param {Mutant} mutant
 * @param {readonly Run[]} runs
 * @param {{ shouldDie: boolean, threads: SimulationThreads }} around
 * @returns {Promise<Verdict>}
 */
export async function judgeMutant({ name, edits, tryFirst, skips = [] }, runs, around) {
  const { shouldDie, threads } = around;
  const fair = runs.filter(({ scenario }) => !skips.includes(scenario));
  const [first, ...others] = tryFirst ? [tryFirst, ...fair] : fair;
  let triedCount = 0;
  let killedBy = '';
  let seen = '';
  const tryAll = (/** @type {readonly Run[]} */ tried) =>
    runSimulations(tried, {
      edits,
      threads,
      onReport({ scenario, seed, violations }) {
        triedCount++;
        const violation = violations.find(({ kind }) => !HARMLESS.has(kind));
        if (violation) [killedBy, seen] = [`${scenario} ${seed}`, violation.kind];
        return violation !== undefined;
      },
    });
  // Nearly every mutant that should die does so in its first run, for which one thread is enough.
  if (first) await tryAll([first]);
  if (killedBy === '') await tryAll(others);
  const isKilled = killedBy !== '';
  return { name, isKilled, isAsExpected: isKilled === shouldDie, triedCount, killedBy, seen };
}

// Checks the registries of simulations step by step against the rules of test/proof/lease.rules.
// `npm run prove` proves that ranges of these rules never overlap.

/**
 * @param {readonly Run[]} runs
 * @param {object} options
 * @param {readonly Edit[]} [options.edits] of a mutant
 * @param {SimulationThreads} [options.threads]
 * @param {(sum: Followed) => boolean} [options.isEnough] called after each run
 * @returns {Promise<Followed>} the sum, each difference with its run
 */
export async function followRules(runs, { edits, threads, isEnough = () => false }) {
  /** @type {Followed} */
  const sum = { stepCount: 0, counts: {}, differences: [] };
  const followed = runs
    .filter(({ scenario }) => !UNFOLLOWED.has(scenario))
    .map((run) => ({ ...run, follows: true }));
  await runSimulations(followed, {
    ...(edits && { edits }),
    ...(threads && { threads }),
    onReport({ scenario, seed }, { followed: { stepCount, counts, differences } }) {
      sum.stepCount += stepCount;
      for (const [rule, count] of Object.entries(counts)) {
        sum.counts[rule] = (sum.counts[rule] ?? 0) + count;
      }
      sum.differences.push(...differences.map((text) => `${scenario}, seed ${seed}, ${text}`));
      return isEnough(sum);
    },
  });
  return sum;
}

/** The broken variants of the registry, each of which violates a rule. */
export function followedMutants() {
  const all = [...REGISTRY_MUTANTS, ...TIME_MUTANTS, ...RULE_MUTANTS];
  return all.filter(({ name }) => !UNSEEN.has(name));
}

/**
 * The operation at which a mutant violates the rules.
 *
 * @param {ReturnType<typeof followedMutants>[number]} mutant
 * @param {SimulationThreads} threads
 * @returns {Promise<string | undefined>}
 */
export async function refusalOf(mutant, threads) {
  const { edits } = mutant;
  const shortest = 'scenario' in mutant ? mutant : mutant.tryFirst;
  const others = runsOf(['everything', 'losses'], [2]);
  const runs = shortest === undefined ? others : [shortest, ...others];
  const isEnough = (/** @type {Followed} */ sum) => sum.differences.length > 0;
  const asked = runs.map(({ scenario, seed }) => ({ scenario, seed }));
  return (await followRules(asked, { edits, threads, isEnough })).differences[0];
}

/** In these an operator sets a clock back, which no rule covers. */
export const UNFOLLOWED = new Set(['settled, then lost']);

/** The reason why a mutant violates no checked rule. */
export const UNSEEN = new Map([
  ['a registry follows its store wherever that goes', 'the rules let a clock take any step'],
  ['a settled clock hides how far ranges were granted', 'the rules know no order to settle'],
  ['two layouts with ranges go on', 'the rules know one layout'],
  ['a process forgets the longest quarantine', 'of the holder'],
]);

// Adds up the reports of many simulations, and prints the sums.

const SHOWN_MAX = 10;

/** The command that repeats a run with a trace. */
export function replayOf(/** @type {SimulationReport} */ { seed, scenario, isOverRows }) {
  const name = /\W/.test(scenario) ? `'${scenario}'` : scenario;
  const rows = isOverRows ? ' --rows' : '';
  return `npm run simulate -- --seeds ${seed} --scenario ${name}${rows} --trace`;
}

export class Tally {
  violationCount = 0;
  /** @type {Map<string, SimulationReport[]>} */
  #byScenario = new Map();
  /** @type {string[]} */
  #violations = [];
  #drawnText;

  constructor(/** @type {(drawn: SimulationReport['drawn']) => string} */ drawnText) {
    this.#drawnText = drawnText;
  }

  add(/** @type {SimulationReport} */ report) {
    const { scenario, drawn, violations, violationCount } = report;
    this.#byScenario.set(scenario, [...(this.#byScenario.get(scenario) ?? []), report]);
    this.violationCount += violationCount;
    const [first] = violations;
    if (first === undefined || this.#violations.length >= SHOWN_MAX) return;
    const seen = `${first.kind}: ${first.text}`;
    const lines = [seen, `drawn: ${this.#drawnText(drawn)}`, replayOf(report)];
    this.#violations.push(lines.join('\n  '));
  }

  text() {
    const all = [...this.#byScenario.values()].flat();
    const rows = [...this.#byScenario].map(([name, reports]) => rowOf(name, reports));
    const head = [
      'scenario',
      'seeds',
      'hours',
      'ids',
      'leases',
      'operations',
      'refused',
      'twice',
      'of them live',
      // Granted by a server without the data: see world/simulated-servers.ts.
      'unheard',
      'violations',
    ];
    return [
      table([head, ...rows, rowOf('all', all)]),
      `faults: ${faultsOf(all)}`,
      `ids that both copies of a cloned process made before it was noticed: ${twinText(all)}`,
      ...this.#violations,
      this.violationCount === 0
        ? 'No id was generated twice, and no two leases overlapped, but where a scenario tolerates it.'
        : `${this.violationCount} VIOLATIONS`,
    ].join('\n');
  }
}

/** @returns {string[]} */
function rowOf(/** @type {string} */ name, /** @type {readonly SimulationReport[]} */ reports) {
  const sum = (/** @type {(report: SimulationReport) => number} */ of) =>
    reports.reduce((total, report) => total + of(report), 0);
  return [
    name,
    number(reports.length),
    (sum(({ simulatedMs }) => simulatedMs) / 3_600_000).toFixed(1),
    number(sum(({ idCount }) => idCount)),
    number(sum(({ leaseCount }) => leaseCount)),
    number(sum(({ operationCount }) => operationCount)),
    number(sum(({ refusedCount }) => refusedCount)),
    number(sum(({ twiceCount }) => twiceCount)),
    number(sum(({ liveTwiceCount }) => liveTwiceCount)),
    number(sum(({ unheardTwiceCount }) => unheardTwiceCount)),
    number(sum(({ violationCount }) => violationCount)),
  ];
}

function faultsOf(/** @type {readonly SimulationReport[]} */ reports) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { faults } of reports) {
    for (const [name, count] of Object.entries(faults)) sums[name] = (sums[name] ?? 0) + count;
  }
  const sorted = Object.entries(sums).toSorted(([a], [b]) => a.localeCompare(b));
  return sorted.map(([name, count]) => `${name} ${number(count)}`).join(', ');
}

function twinText(/** @type {readonly SimulationReport[]} */ reports) {
  return number(reports.reduce((total, { twinIdCount }) => total + twinIdCount, 0));
}

/** The first column is left-aligned, and numbers are right-aligned. */
function table(/** @type {readonly string[][]} */ rows) {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const padded = (/** @type {string} */ cell, /** @type {number} */ at) =>
    at === 0 ? cell.padEnd(widths?.[at] ?? 0) : cell.padStart(widths?.[at] ?? 0);
  return rows.map((row) => row.map(padded).join('  ')).join('\n');
}

function number(/** @type {number} */ value) {
  return value.toLocaleString('en-US');
}
