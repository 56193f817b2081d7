/**
 * Adds up the reports of many simulations, and tells the sums.
 */

/** @import { SimulationReport } from './world/index.js' */

const SHOWN_MAX = 10;

export class Tally {
  violationCount = 0;
  /** @type {Map<string, SimulationReport[]>} */
  #byScenario = new Map();
  /** @type {string[]} */
  #violations = [];
  #drawnText;
  #how;

  /**
   * @param {(drawn: SimulationReport['drawn']) => string} drawnText
   * @param {{ rows?: boolean }} [how] the runs were made, for whoever makes one again
   */
  constructor(drawnText, { rows = false } = {}) {
    this.#drawnText = drawnText;
    this.#how = rows ? ' --rows' : '';
  }

  add(/** @type {SimulationReport} */ report) {
    const { scenario, seed, drawn, violations, violationCount } = report;
    this.#byScenario.set(scenario, [...(this.#byScenario.get(scenario) ?? []), report]);
    this.violationCount += violationCount;
    const [first] = violations;
    if (first === undefined || this.#violations.length >= SHOWN_MAX) return;
    const one = `--seeds ${seed} --scenario ${scenario}${this.#how}`;
    const replay = `npm run simulate -- ${one} --trace`;
    const lines = [`${first.kind}: ${first.text}`, `drawn: ${this.#drawnText(drawn)}`, replay];
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
      // Granted by a server that could not know: see world/simulated-servers.ts.
      'unheard',
      'violations',
    ];
    return [
      table([head, ...rows, rowOf('all', all)]),
      `faults: ${faultsOf(all)}`,
      `ids that both copies of a cloned process made before it was noticed: ${twinText(all)}`,
      ...this.#violations,
      this.violationCount === 0
        ? 'No id was made twice, and no two leases overlapped, but where a scenario tolerates it.'
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

/** The first column to the left, numbers to the right. */
function table(/** @type {readonly string[][]} */ rows) {
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const padded = (/** @type {string} */ cell, /** @type {number} */ at) =>
    at === 0 ? cell.padEnd(widths?.[at] ?? 0) : cell.padStart(widths?.[at] ?? 0);
  return rows.map((row) => row.map(padded).join('  ')).join('\n');
}

function number(/** @type {number} */ value) {
  return value.toLocaleString('en-US');
}
