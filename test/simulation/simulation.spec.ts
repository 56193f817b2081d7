/**
 * The short run of the simulation. Fleets in a bad world generate no duplicate ID, with fresh seeds
 * and with seeds that failed once, and follow the proved rules. Then the tests attack the
 * simulation: some seed must break each broken variant of the protocol, and none may break a safe
 * one. The last part covers operators' mistakes that no rule can fully repair: it limits their
 * duplicates, and shows for each rule a fleet that fails without it.
 * The long runs are `npm run simulate` and `npm run simulate -- --mutants`.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { REGION_MUTANTS } from '../mutants/lease-mutants.mjs';
import { loadRegions } from '../mutants/load-library.mjs';
import { MOVE_MUTANTS } from '../mutants/move-mutants.mjs';
import {
  BROKEN_VARIANTS,
  REGISTRY_MUTANTS,
  SAFE_VARIANTS,
  TIME_MUTANTS,
} from '../mutants/mutants.mjs';
import { RULE_MUTANTS } from '../mutants/registry-mutants.mjs';
import { freshSeeds, seedsFrom } from '../seeds.mjs';
import {
  followedMutants,
  judgeMutant,
  refusalOf,
  replayOf,
  runsOf,
  runSimulations,
  SimulationThreads,
  Tally,
  UNFOLLOWED,
  UNSEEN,
  type Answer,
  type Run,
} from './run-simulations.mjs';
import { drawnText, isStrict, SCENARIOS, simulate } from './world/index.js';
import type { Scenario, SimulationReport } from './world/index.js';
import { regionFaults, simulateRegions } from './world/regions.js';

const threads = new SimulationThreads();
afterAll(() => threads.close());

const STRICT = SCENARIOS.filter(isStrict);
const FRESH_COUNT = 10;
const FRESH_ROWS_COUNT = 1;
/** How many runs of a scenario must follow the proved rules, call by call. */
const FOLLOWED_COUNT = 2;
/**
 * More fleets for rare faults. A fault that occurs in one of ten runs is absent from all of them
 * once in 10^9.
 */
const RARE_COUNT = 200;

interface Way {
  readonly rows?: true;
  readonly follows?: true;
}

/** Seeds of fleets that failed once. Each fix adds its seed here. */
const HELD: readonly ({ scenario: string; seeds: readonly number[] } & Way)[] = [
  { scenario: 'there and back', seeds: [366, 1412] },
  { scenario: 'everything', seeds: [31, 31_000_043, 39_001_455] },
  { scenario: 'step back, then loss', seeds: [911] },
  {
    scenario: 'step back, then loss, a host waits',
    seeds: [1000021, 1000025, 1000027, 1000048, 1000120, 1000172, 1000255, 34_001_694],
  },
  {
    scenario: 'step back, then loss, newcomers',
    seeds: [900118, 900138, 900144, 900187, 930205, 34_002_743],
  },
  { scenario: 'step back, then loss, newcomers', seeds: [45_001_290], rows: true },
  { scenario: 'store move, losses', seeds: [920452, 921111, 921375, 921494] },
  { scenario: 'store move', seeds: [920089, 921701, 921816, 921962, 36_002_601] },
  { scenario: 'store move, losses', seeds: [21_000_133], rows: true },
  { scenario: 'store move, losses', seeds: [1_418_165], follows: true },
  { scenario: 'losses', seeds: [21_000_343], rows: true },
  { scenario: 'layout move', seeds: [39_000_191, 39_000_618], rows: true },
  { scenario: 'rows', seeds: [39_000_018] },
  { scenario: 'rows', seeds: [58_637_894], rows: true, follows: true },
  { scenario: 'claims', seeds: [43_001_330, 44_001_398], rows: true },
  { scenario: 'clocks', seeds: [44_001_738], rows: true },
  { scenario: 'everything', seeds: [44_000_248], rows: true },
  { scenario: 'settled, then lost', seeds: [20_001_654] },
  {
    scenario: 'step forward for seconds',
    seeds: [940005, 940025, 940033, 940075, 21_000_524, 43_001_782],
    rows: true,
  },
];

/** Fresh seeds of a scenario, also over rows, and the kept seeds. */
function runsIn({ name, isOverRows, isWide }: Scenario): Run[] {
  const fresh = freshSeeds(`simulation ${name}`, FRESH_COUNT + FRESH_ROWS_COUNT);
  const isRow = (at: number) => at >= FRESH_COUNT && isOverRows !== true && isWide !== true;
  const drawn = fresh.map((seed, at) => ({ seed, ...(isRow(at) && { rows: true }) }));
  const held = HELD.filter(({ scenario }) => scenario === name).flatMap(({ seeds, ...how }) =>
    seeds.map((seed) => ({ ...how, seed })),
  );
  return [...drawn, ...held].map((run, at) => {
    const follows = at < FOLLOWED_COUNT && !UNFOLLOWED.has(name);
    return { follows, ...run, scenario: name };
  });
}

/** The results of one scenario's fleets. */
interface Seen {
  idCount: number;
  readonly bad: unknown[];
  readonly faults: Set<string>;
}

describe('simulated fleets', () => {
  const seen = new Map<string, Seen>();
  let callCount = 0;
  let followedCount = 0;
  const differences: string[] = [];
  // One batch for all scenarios, since warm threads take half as long.
  beforeAll(async () => {
    process.stderr.write(`[simulation] seeds drawn from ${seedsFrom}, which SEEDS_FROM repeats\n`);
    for (const { name } of STRICT) {
      seen.set(name, { idCount: 0, bad: [], faults: new Set() });
    }
    await runSimulations(STRICT.flatMap(runsIn), { records: true, threads, onReport: note });
    for (const scenario of STRICT) await seeEach(scenario);
  });

  /** A fault that never happened proves nothing, so more fleets run until each has happened. */
  async function seeEach({ name, faults: wanted }: Scenario): Promise<void> {
    const isSeen = () => wanted.every((fault) => seen.get(name)!.faults.has(fault));
    if (isSeen()) return;
    const more = freshSeeds(`rare faults of ${name}`, RARE_COUNT);
    const onReport = (report: SimulationReport, answer: Answer) => {
      note(report, answer);
      return isSeen();
    };
    await runSimulations(runsOf([name], more), { records: true, threads, onReport });
  }

  function note(report: SimulationReport, { events, followed }: Answer): void {
    const { scenario, seed, isOverRows, drawn, idCount, violations } = report;
    const own = seen.get(scenario)!;
    const { bad, faults } = own;
    own.idCount += idCount;
    const told = { scenario, seed, drawn: drawnText(drawn), again: replayOf(report) };
    if (violations.length > 0) bad.push({ ...told, idCount, violations });
    for (const fault of Object.keys(report.faults)) faults.add(fault);
    followedCount += followed.stepCount;
    const where = replayOf(report);
    differences.push(...followed.differences.map((text) => `${where}: ${text}`));
    // Operations on rows are not scripts.
    const calls = isOverRows ? events.filter(({ kind }) => kind === 'call') : [];
    if (calls.length > 0) bad.push({ ...told, calls });
    callCount += isOverRows ? 0 : report.operationCount;
  }

  it.each(STRICT)('generate no duplicate ID: $name, $about', ({ name, faults: wanted }) => {
    const { bad, faults, idCount } = seen.get(name)!;
    expect(bad).toEqual([]);
    expect(idCount).toBeGreaterThan(10_000);
    expect([...faults]).toEqual(expect.arrayContaining([...wanted]));
  });

  it('made at least 100,000 calls to registries, by the proved rules', () => {
    expect(callCount).toBeGreaterThanOrEqual(100_000);
    expect(differences).toEqual([]);
    expect(followedCount).toBeGreaterThanOrEqual(5000);
  });

  it('depend on their seed alone', async () => {
    const told = async (): Promise<string[]> => {
      const lines: string[] = [];
      await simulate({ seed: 5, scenario: 'processes', trace: (line) => lines.push(line) });
      return lines;
    };
    expect(await told()).toEqual(await told());
  });

  it('reject the name of an unknown scenario', async () => {
    const known = SCENARIOS.map(({ name }) => name).join(', ');
    await expect(simulate({ seed: 1, scenario: 'peace' })).rejects.toThrow(
      `Expected \`scenario\` to be one of ${known}, got peace.`,
    );
  });
});

// Attacks on the simulation.

const scenarios = STRICT.map(({ name }) => name);
const seeds = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

describe('the simulation', () => {
  it.each(BROKEN_VARIANTS)('kills: $name', async (mutant) => {
    const verdict = await judgeMutant(mutant, runsOf(scenarios, seeds(60)), {
      shouldDie: true,
      threads,
    });
    expect(verdict).toMatchObject({ isKilled: true });
  });

  // `npm run simulate -- --follow --mutants` runs all of them.
  it.each([
    ['no floor at re-grant', '"a worker id is leased"; the answer begins at'],
    ['renew answers but does not store', /"a lease is renewed"; [ab]\.c is/],
    ['release without token check', '"a worker id is released" needs token = s.holder'],
    ['no quarantine of a new registry', /"a server takes over"; [ab]\.safe is/],
    ['range extended across an era', '"a lease is renewed" needs s.holderEra = s.era'],
    ['the floor of the last loss does not move', /"a ttl is asked for"; [ab]\.safe is/],
  ])('detects the operation that violates the proved rules: %s', async (name, where) => {
    const mutant = followedMutants().find((one) => one.name === name)!;
    expect(await refusalOf(mutant, threads)).toMatch(where);
  });

  it('gives the reason why the rules cannot tell some variants from the code', () => {
    const names = [...REGISTRY_MUTANTS, ...TIME_MUTANTS, ...RULE_MUTANTS].map(({ name }) => name);
    expect([...UNSEEN.keys()].filter((name) => !names.includes(name))).toEqual([]);
  });

  it.each(SAFE_VARIANTS)(
    'lets live: $name',
    async (mutant) => {
      const verdict = await judgeMutant(mutant, runsOf(scenarios, seeds(1)), {
        shouldDie: false,
        threads,
      });
      expect(verdict).toMatchObject({ isKilled: false });
    },
    120_000,
  );
});

const TWELVE = seeds(12);

/** Duplicates of all seeds, and those of them that the registry could have prevented. */
async function twiceIn(
  scenario: string,
  seeds: number[],
  edits?: (typeof RULE_MUTANTS)[number]['edits'],
) {
  const sum = { ids: 0, twice: 0, live: 0, violations: 0 };
  await runSimulations(runsOf([scenario], seeds), {
    edits: edits ?? [],
    threads,
    onReport({ idCount, twiceCount, liveTwiceCount, violationCount }) {
      sum.ids += idCount;
      sum.twice += twiceCount;
      sum.live += liveTwiceCount;
      sum.violations += violationCount;
    },
  });
  return sum;
}

describe("operators' mistakes", () => {
  it.each([
    ['relayout', 20],
    ['misconfigured', 40],
    ['two faults within a lease', 100],
  ])(
    'of the kind %s cause at most %i duplicate IDs in 12 fleets',
    async (scenario, most) => {
      const { ids, twice, violations } = await twiceIn(scenario, TWELVE);
      expect(ids).toBeGreaterThan(100_000);
      expect(violations).toBe(0);
      expect(twice).toBeLessThanOrEqual(most);
    },
    300_000,
  );

  it.each([...RULE_MUTANTS, ...MOVE_MUTANTS])(
    'would cause more without a rule: $name',
    async (mutant) => {
      const { scenario, seed, edits } = mutant;
      const bad = ({ live, violations }: { live: number; violations: number }) => live + violations;
      expect(bad(await twiceIn(scenario, [seed]))).toBe(0);
      expect(bad(await twiceIn(scenario, [seed], edits))).toBeGreaterThan(0);
    },
    120_000,
  );
});

// The report of a failed simulation contains everything that its repetition needs.

const WRONG = {
  scenario: 'losses',
  seed: 7,
  drawn: { hosts: 3, lost: '5 %' },
  faults: {},
  violationCount: 1,
  violations: [{ kind: 'twice', text: 'id 1' }],
} as unknown as SimulationReport;

it.each([
  [{}, 'npm run simulate -- --seeds 7 --scenario losses --trace'],
  [{ isOverRows: true }, 'npm run simulate -- --seeds 7 --scenario losses --rows --trace'],
  [{ scenario: 'a loss' }, "npm run simulate -- --seeds 7 --scenario 'a loss' --trace"],
])('the report contains the seed, its options, and the command: %j', (how, command) => {
  const tally = new Tally(drawnText);
  tally.add({ ...WRONG, ...how });
  const lines = tally.text().split('\n');
  expect(lines).toEqual(expect.arrayContaining(['  drawn: hosts 3; lost 5 %', `  ${command}`]));
});

// Two regions, cut off from each other and from the registry of regions repeatedly or all the time,
// in simulated hours. Regions with different numbers generate no duplicate ID and report no
// conflict. Regions with one number generate duplicates, and report this within a minute. `npm run
// simulate -- --regions` is the long run, of an hour and ten million IDs.

const MINUTE_MS = 60_000;
const run = (seed: number, minutes = 60) => ({ seed, durationMs: minutes * MINUTE_MS });
const apart = (seed: number, minutes?: number) =>
  ({ ...run(seed, minutes), numbers: [3, 4] }) as const;
const equal = (seed: number, minutes?: number) =>
  ({ ...run(seed, minutes), numbers: [3, 3] }) as const;

/**
 * With the second seed, only a process without a lease remained of a region. This is no conflict.
 */
const HOURS = [2, 8_000_015, ...freshSeeds('regions', 2)];

describe('two regions for a simulated hour', () => {
  it.each(HOURS)('generate no duplicate ID with different numbers, seed %i', async (seed) => {
    const report = await simulateRegions(apart(seed));
    expect(report).toMatchObject({ twiceCount: 0, conflictCount: 0, wrong: [] });
    expect(report.idCount).toBeGreaterThan(100_000);
    expect(report.faults['region cut off']).toBeGreaterThan(0);
  });

  it.each(HOURS)('generate and report duplicates with one number, seed %i', async (seed) => {
    const report = await simulateRegions(equal(seed));
    expect(regionFaults(report)).toEqual([]);
    expect(report.conflictCount).toBeGreaterThan(0);
    expect(report.twiceCount).toBeGreaterThan(1000);
  });

  it('generate duplicates only with one number, even if always cut off', async () => {
    const lonely = { isApart: true, burst: 240 };
    const own = await simulateRegions({ ...apart(1, 10), ...lonely });
    expect(own).toMatchObject({ twiceCount: 0, conflictCount: 0, wrong: [] });
    expect(own.idCount).toBeGreaterThan(1_000_000);
    const same = await simulateRegions({ ...equal(1, 10), ...lonely });
    expect(same.twiceCount).toBeGreaterThan(100_000);
    expect(regionFaults(same)).toEqual([]);
  });

  it('depend on their seed alone', async () => {
    expect(await simulateRegions(apart(7, 6))).toEqual(await simulateRegions(apart(7, 6)));
  });
});

/** The second region's registry is a copy of the first one's, and both are in use. */
const copied = (seed: number) => ({ ...equal(seed), second: 'copied' }) as const;
/** A new region takes the number of an ended one, whose clocks were up to 3 min ahead. */
const after = (seed: number) => ({ ...equal(seed, 15), second: 'after' }) as const;

describe("a region's number", () => {
  it.each([2, 12])('is reported as shared if a registry is a copy, seed %i', async (seed) => {
    const report = await simulateRegions(copied(seed));
    expect(regionFaults(report)).toEqual([]);
    expect(report.twiceCount).toBeGreaterThan(1000);
  });

  it.each([2, 3, 4, 5])('creates no duplicate ID after its reuse, seed %i', async (seed) => {
    const report = await simulateRegions(after(seed));
    expect(report).toMatchObject({ twiceCount: 0, conflictCount: 0, wrong: [] });
    expect(report.refusedStartCount).toBeGreaterThan(0);
  });
});

describe("a region's claim", () => {
  it.each(REGION_MUTANTS)('detects the mutant: $name', async ({ edits, tryFirst }) => {
    const { simulateRegions: mutated } = await loadRegions(edits);
    const found: string[] = [];
    const { seed } = tryFirst ?? { seed: 2 };
    for (const run of [after(seed), copied(seed), apart(seed), equal(seed)]) {
      if (found.length === 0) found.push(...regionFaults(await mutated(run)));
    }
    expect(found).not.toEqual([]);
  });
});
