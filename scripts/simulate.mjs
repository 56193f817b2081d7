// Attacks the library in simulated fleets: `npm run simulate -- --seeds 1-3000 --scenario all`.
// With --trace a single seed tells what happens in it; with --mutants the attack itself is tested.
import { parseArgs } from 'node:util';
import { loadRegions, loadSimulation } from '../test/mutants/load-library.mjs';
import {
  followedMutants,
  followRules,
  judgeMutants,
  refusalOf,
  runsOf,
  runSimulations,
  SimulationThreads,
  Tally,
} from '../test/simulation/run-simulations.mjs';
import { freshSeeds, seedsFrom } from '../test/seeds.mjs';

const HELP = `Usage: npm run simulate -- [options]
  --seeds 1-3000     which seeds, one or a range (default: 100 drawn from the commit and the
                     date; SEEDS_FROM='<commit> <date>' draws those of another run)
  --scenario all     one of the scenarios, or all
  --rows             over a store that keeps rows, in every scenario but wide
  --regions          two regions, cut off from each other for an hour, instead of a fleet: with a
                     number each, and with one between them, which makes ids twice
  --trace            tell all that happens; for a single seed and scenario
  --drawn            tell what each seed drew: faults, leases, layouts and all the rest; a single
                     run and one that went wrong tell it anyway
  --follow           tell whether each operation does what the rules say that \`npm run prove\`
                     proves, and what nearest rule one misses; with --mutants the same of each
                     broken variant of the registry, which must be refused
  --mutants          try every broken variant of the protocol until a seed kills it
  --mutant <name>    only variants whose name contains this
`;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    scenario: { type: 'string', default: 'all' },
    rows: { type: 'boolean', default: false },
    regions: { type: 'boolean', default: false },
    follow: { type: 'boolean', default: false },
    trace: { type: 'boolean', default: false },
    drawn: { type: 'boolean', default: false },
    mutants: { type: 'boolean', default: false },
    mutant: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});

const { SCENARIOS, drawnText, isStrict, simulate } = await loadSimulation();
const known = SCENARIOS.map(({ name }) => name);
const tolerant = new Set(
  SCENARIOS.filter((scenario) => !isStrict(scenario)).map(({ name }) => name),
);

const DRAWN_COUNT = 100;

/** @returns {number[]} */
function seedsOf(/** @type {string | undefined} */ text) {
  if (text === undefined) {
    const drawn = freshSeeds('simulate', DRAWN_COUNT);
    console.log(`seeds drawn from ${seedsFrom}: ${drawn[0]}-${drawn.at(-1)}`);
    return drawn;
  }
  const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const count = Number(last) - Number(first) + 1;
  if (!(count > 0)) return stop(`Expected --seeds to be like 7 or 1-3000, got ${text}.`);
  return Array.from({ length: count }, (_, n) => Number(first) + n);
}

/** @returns {never} */
function stop(/** @type {string} */ message) {
  console.error(`${message}\n\n${HELP}`);
  process.exit(2);
}

async function attack(/** @type {{ seed: number, scenario: string }[]} */ runs) {
  const tally = new Tally(drawnText);
  let count = 0;
  await runSimulations(runs, {
    onReport(report) {
      tally.add(report);
      if (values.drawn || runs.length === 1) {
        console.log(`seed ${report.seed}, ${report.scenario}: ${drawnText(report.drawn)}`);
      }
      if (++count % 1000 > 0) return;
      console.error(`${count} of ${runs.length} runs, ${tally.violationCount} violations`);
    },
  });
  console.log(tally.text());
  if (tally.violationCount > 0) process.exitCode = 1;
}

/** Ten million ids each, in an hour that begins and ends with minutes in which all is in touch. */
const REGIONS = { durationMs: 64 * 60_000, isApart: true, burst: 240 };

async function attackRegions(/** @type {number[]} */ seeds) {
  const { regionFaults, simulateRegions } = await loadRegions();
  for (const seed of seeds) {
    for (const numbers of /** @type {[number, number][]} */ ([
      [3, 4],
      [3, 3],
    ])) {
      const report = await simulateRegions({ ...REGIONS, seed, numbers });
      const found = regionFaults(report);
      const { idCount, twiceCount, unnoticedMs } = report;
      const said = numbers[0] === numbers[1] ? `, told within ${unnoticedMs / 1000} s` : '';
      const [ids, twice] = [idCount, twiceCount].map((count) => count.toLocaleString('en-US'));
      console.log(`seed ${seed}, ${numbers.join(' and ')}: ${ids} ids, ${twice} twice${said}`);
      for (const fault of found) console.log(`  ${fault}`);
      if (found.length > 0) process.exitCode = 1;
    }
  }
}

async function follow(/** @type {{ seed: number, scenario: string }[]} */ runs) {
  let told = 0;
  const { stepCount, counts, differences } = await followRules(runs, {
    isEnough(sum) {
      for (const text of sum.differences.slice(told)) console.log(text);
      told = sum.differences.length;
      return false;
    },
  });
  const rules = Object.entries(counts).toSorted(([, one], [, other]) => other - one);
  for (const [rule, count] of rules) {
    console.log(`${count.toLocaleString('en-US').padStart(10)}  ${rule}`);
  }
  const steps = stepCount.toLocaleString('en-US');
  console.log(`${steps} operations, ${differences.length} of them follow no rule.`);
  if (stepCount === 0 || differences.length > 0) process.exitCode = 1;
}

async function followMutants() {
  const threads = new SimulationThreads();
  for (const mutant of followedMutants()) {
    if (values.mutant !== undefined && !mutant.name.includes(values.mutant)) continue;
    const refusal = await refusalOf(mutant, threads);
    console.log(`${mutant.name}\n    ${refusal ?? 'NOT EXPECTED: it follows every rule'}`);
    if (refusal === undefined) process.exitCode = 1;
  }
  await threads.close();
}

async function attackMutants(/** @type {{ seed: number, scenario: string }[]} */ runs) {
  console.log('variant                                                          tried  verdict');
  let isSound = true;
  await judgeMutants(
    runs,
    ({ name, isKilled, isAsExpected, triedCount, killedBy, seen }) => {
      isSound &&= isAsExpected;
      const verdict = isKilled ? `killed by ${killedBy} (${seen})` : 'lives, as it should';
      const words = isAsExpected ? verdict : `NOT EXPECTED: ${isKilled ? verdict : 'lives'}`;
      console.log(`${name.padEnd(64)} ${String(triedCount).padStart(5)}  ${words}`);
    },
    (name) => values.mutant === undefined || name.includes(values.mutant),
  );
  if (!isSound) process.exitCode = 1;
}

if (values.help) {
  console.log(HELP + known.map((name) => `\n  ${name}`).join(''));
} else {
  const scenarios = values.scenario === 'all' ? known : [values.scenario];
  const unknown = scenarios.find((name) => !known.includes(name));
  if (unknown) stop(`Expected --scenario to be all or one of ${known.join(', ')}, got ${unknown}.`);
  const isAttack = values.mutants || values.mutant;
  // What a scenario tolerates tells nothing of a mutant.
  const fair = isAttack ? scenarios.filter((name) => !tolerant.has(name)) : scenarios;
  const overRows = fair.filter((name) => name !== 'wide');
  const seeds = seedsOf(values.seeds);
  const runs = values.rows
    ? runsOf(overRows, seeds).map((run) => ({ ...run, rows: true }))
    : runsOf(fair, seeds);
  if (values.trace && runs.length > 1) stop('--trace tells of one seed and one scenario.');
  if (values.regions) await attackRegions(seeds);
  else if (values.follow && isAttack) await followMutants();
  else if (values.follow) await follow(runs);
  else if (values.trace) console.log(await simulate({ ...runs[0], trace: console.log }));
  else if (isAttack) await attackMutants(runs);
  else await attack(runs);
}
