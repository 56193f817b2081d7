/**
 * Attacks the contract suite: it must reject each support that is wrong on purpose by the case
 * about its fault, and accept supports that are correct in a different way.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryRegistry } from '../models/memory-registry.js';
import { CONTRACT_CASES } from '../../lib/testing/describe-stores.js';
import {
  describeDistributedSupport,
  type HarnessParts,
  type ContractNeed,
} from '../../lib/testing/index.js';
import { loadLibrary, type Edit } from '../mutants/load-library.mjs';
import { REGISTRY_MUTANTS, SAFE_VARIANTS, TIME_MUTANTS } from '../mutants/mutants.mjs';
import { REGISTRY_FAULTS, type Fault } from './registry-faults.js';
import { memoryStore } from './settable-stores.js';
import {
  MUTANT_REJECTED_BY,
  SAFE_VARIANT_IS_WITHOUT,
  BRANCH_FAULTS,
  CLAIM_FAULTS,
  TIME_FAULTS,
  WRONG_SUPPORTS,
} from './wrong-supports.js';

// Faults of a registry in layouts, longer leases, and other protocol versions, as edits of the
// reference. Each one names the case that must reject it.

const ACQUIRE = 'registry/acquire.ts';
const RENEW = 'registry/renew.ts';
const RELEASE = 'registry/renew.ts';
const OPENING = 'registry/prologue.ts';
const MOVE = 'registry/layout-move.ts';
const LAYOUT = 'registry/prologue.ts';

const edit = (file: string, find: string, put: string): Edit => ({ file, find, put });

const CLAIM_AT_RENEWAL = 'claimed(prologue.header, lease.fingerprint)';
const CLAIM_AT_GRANT = 'grantKept(claimed(header, fingerprint),';
const CLAIM_WITH_RANGE = 'hasRange ? claimed(prologue.header, fingerprint) : prologue.header';
const WITHOUT_CONTEST = '!contests(text, terms, nowMs)';
const LONGER_ERA = 'safeFloorMs > nowOf(header) ? header.era + 1 : header.era';

const LAYOUT_FAULTS: readonly Fault[] = [
  {
    name: 'a new registry is for whoever comes first',
    by: 'is for no layout as long as nobody had a range: whoever has to wait claims nothing',
    edits: [
      edit(
        OPENING,
        '{ ...newHeader(reading), quarantineMs,',
        '{ ...newHeader(reading), fingerprint: terms.fingerprint, quarantineMs,',
      ),
    ],
  },
  {
    name: 'no grant claims a layout',
    by: 'refuses another layout in the same registry, naming the one it knows',
    edits: [edit(ACQUIRE, CLAIM_AT_GRANT, 'grantKept(header,')],
  },
  {
    name: 'no renewal claims a layout',
    by: 'is for the layout of a holder that renews before a newcomer of another has a range',
    edits: [edit(RENEW, CLAIM_AT_RENEWAL, 'prologue.header')],
  },
  {
    name: 'a range in use claims nothing where another one is asked for',
    by: 'is for the layout of one who asks for a worker id while it has a range yet',
    edits: [edit(ACQUIRE, CLAIM_WITH_RANGE, 'prologue.header')],
  },
  {
    name: 'the first layout with a range keeps the registry',
    by: 'stops both sides where a renewal shows that two layouts have ranges at once',
    edits: [edit(OPENING, WITHOUT_CONTEST, 'true')],
  },
  {
    name: 'a contest is written again and again',
    by: 'stops both sides where a renewal shows that two layouts have ranges at once',
    edits: [edit(LAYOUT, '!isContested(text) && ', '')],
  },
  {
    name: 'the last layout with a range takes the registry',
    by: 'stops both sides where a renewal shows that two layouts have ranges at once',
    edits: [
      edit(LAYOUT, 'fingerprint: contestedBy(header.fingerprint, fingerprint)', 'fingerprint'),
    ],
  },
  {
    name: 'only a renewal contests',
    by: 'stops both sides also where one asks for a worker id that has a range of another layout',
    edits: [
      edit(
        ACQUIRE,
        'open(snapshot.header, request, reading)',
        'open(snapshot.header, { ...request, haveMs: 0 }, reading)',
      ),
    ],
  },
  {
    name: 'a range that has ended contests',
    by: 'continues with its layout where the range of another has ended',
    edits: [edit(LAYOUT, 'return nowMs < haveMs && haveMs', 'return haveMs')],
  },
  {
    name: 'any ceiling contests',
    by: 'believes in no range of another layout that ends further than a day ahead',
    edits: [edit(LAYOUT, ' && haveMs < nowMs + SANE_MS', '')],
  },
  {
    name: 'whoever leaves contests',
    by: 'takes whoever leaves for no claim of a layout, and for no contest',
    edits: [edit(RELEASE, '{ ...lease, haveMs: 0 }', 'lease')],
  },
  {
    name: 'whoever leaves claims a layout',
    by: 'takes whoever leaves for no claim of a layout, and for no contest',
    edits: [
      edit(
        RELEASE,
        'const { header: current } = prologue;',
        'const current = { ...prologue.header, fingerprint: lease.fingerprint };',
      ),
    ],
  },
  {
    name: 'the quarantine is not told',
    by: 'says with each grant how long its quarantine is',
    edits: [edit(OPENING, '    quarantineMs,\n    ...(isMove', '    ...(isMove')],
  },
  {
    name: 'what a process knew of quarantines is not heard',
    by: 'takes for its own the longer quarantine of a registry that was lost',
    edits: [edit(OPENING, ', terms.quarantineMs ?? 0)', ')')],
  },
  {
    name: 'the floor of the last loss stays where the quarantine turns out longer',
    by: 'moves the floor of the last loss where its quarantine turns out longer, for all',
    edits: [edit(OPENING, 'header.safeFloorMs + longerMs', 'header.safeFloorMs')],
  },
  {
    name: 'a floor that moved is for newcomers only',
    by: 'moves the floor of the last loss where its quarantine turns out longer, for all',
    edits: [edit(OPENING, LONGER_ERA, 'header.era')],
  },
  {
    name: 'each longer quarantine counts as a loss',
    by: 'continues as before where a longer quarantine comes long after the last loss',
    edits: [
      edit(
        OPENING,
        '{ ...header, quarantineMs, safeFloorMs, era }',
        'afterLoss({ ...header, quarantineMs })',
      ),
    ],
  },
  {
    name: 'the version is not read',
    by: 'changes nothing in a registry that is kept by another version of the protocol',
    edits: [edit(OPENING, 'stored.version !== VERSION', 'false')],
  },
  {
    name: 'the version is compared after the layout',
    by: 'changes nothing in a registry that is kept by another version of the protocol',
    edits: [
      edit(
        OPENING,
        'stored.version !== VERSION',
        'stored.version !== VERSION && stored.fingerprint === terms.fingerprint',
      ),
    ],
  },
  {
    name: 'a layout that ended contests the others',
    by: 'refuses a layout that ended, which stops no other one',
    edits: [edit(LAYOUT, ' && !isListed(text, fingerprint)', '')],
  },
  {
    name: 'a worker id is granted that is for another layout',
    by: 'admits the layouts of a move side by side, each with its own worker ids',
    edits: [
      edit(ACQUIRE, 'commonSpan(request, span) ?? request', 'request'),
      edit(ACQUIRE, 'commonSpan(request, spanFor(header, request))', 'request'),
    ],
  },
  {
    name: 'a worker id that is for another layout is prolonged',
    by: 'continues without a gap where a worker id stays, and not where it is for another layout',
    edits: [edit(RENEW, 'span !== undefined && !isWithin(lease.workerId, span)', 'false')],
  },
  {
    name: 'every range begins anew at a move',
    by: 'continues without a gap where a worker id stays, and not where it is for another layout',
    edits: [edit(LAYOUT, 'moveCountOf(fingerprint) - 1', 'moveCountOf(fingerprint)')],
  },
  {
    name: 'a range runs across a move that its holder missed',
    by: 'begins a new range for a holder that missed a whole state of the layouts',
    edits: [edit(LAYOUT, 'moveCount < moveCountOf(fingerprint) - 1', 'false')],
  },
  {
    name: 'a move raises no floor',
    by: 'begins no range below what was granted before a move',
    edits: [edit(LAYOUT, 'Math.max(safeFloorMs, layoutFloorMs)', 'safeFloorMs')],
  },
  {
    name: 'a change brings no floor of another registry',
    by: 'begins no range below the floor of another registry, and takes its time up',
    edits: [edit(RELEASE, 'moved(header, move.text, move.floorMs)', 'moved(header, move.text)')],
  },
  {
    name: 'the floor of another registry does not move the clock on',
    by: 'begins no range below the floor of another registry, and takes its time up',
    edits: [
      edit(
        LAYOUT,
        'nearer({ ...header, fingerprint: text }, floorMs)',
        '{ ...header, fingerprint: text }',
      ),
    ],
  },
  {
    name: 'a layout has no end',
    by: 'gives a layout no range beyond its end',
    edits: [edit(MOVE, 'endMs > (found?.untilMs ?? Infinity)', 'false')],
  },
  {
    name: 'a change that comes late takes effect',
    by: 'ignores a change that comes late, or after another one',
    edits: [edit(RELEASE, 'nowOf(header) <= move.byMs', 'true')],
  },
  {
    name: 'a change replaces one that it does not know',
    by: 'ignores a change that comes late, or after another one',
    edits: [
      edit(RELEASE, 'isInTime && header.fingerprint === fingerprint', 'isInTime'),
      edit(
        RELEASE,
        'open(stored, { ...lease, haveMs: 0 }',
        'open(stored, { ...lease, haveMs: 0, ' +
          'fingerprint: lease.move ? stored!.fingerprint : lease.fingerprint }',
      ),
    ],
  },
  {
    name: 'a forgotten move stays forgotten',
    by: 'hears of a move that it forgot from whoever was told of it',
    edits: [
      edit(
        MOVE,
        'if (!isLater || isClosed(reported)) return stored;',
        'if (reported !== null) return stored;',
      ),
    ],
  },
];

/** Faults of the store; the contract suite contains no keeper. */
const STORE_TIME_MUTANTS = TIME_MUTANTS.filter(({ edits }) =>
  edits.every(({ file }) => file.startsWith('registry/')),
);
const FAULTS = [
  ...REGISTRY_FAULTS,
  ...LAYOUT_FAULTS,
  ...CLAIM_FAULTS,
  ...BRANCH_FAULTS,
  ...TIME_FAULTS,
];

/** The contract cases that a support fails. */
async function failuresOf(
  store: Omit<HarnessParts, 'expect'>,
  leaveOut: readonly ContractNeed[] = [],
): Promise<string[]> {
  const cases: { name: string; run: () => Promise<void> }[] = [];
  const test = (name: string, run: () => Promise<void>) => void cases.push({ name, run });
  describeDistributedSupport({ test, expect, leaveOut, ...store });
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

const MODEL = '../test/models/memory-registry.ts';

async function mutated(edits: Parameters<typeof loadLibrary>[0]) {
  const { MemoryRegistry: Mutant } = (await loadLibrary(edits, MODEL)) as {
    MemoryRegistry: typeof MemoryRegistry;
  };
  return memoryStore(Mutant);
}

describe('the contract suite', () => {
  /** The rejecting cases by the name of the fault. */
  const rejections = new Map<string, string[]>();

  beforeAll(async () => {
    for (const { name, edits } of [...REGISTRY_MUTANTS, ...STORE_TIME_MUTANTS, ...FAULTS])
      rejections.set(name, await failuresOf(await mutated(edits)));
    for (const { name, build, leaveOut } of WRONG_SUPPORTS)
      rejections.set(name, await failuresOf(build(), leaveOut));
  });

  it.each([...REGISTRY_MUTANTS, ...STORE_TIME_MUTANTS])('rejects the mutant: $name', ({ name }) => {
    expect(rejections.get(name)).not.toEqual([]);
    expect(rejections.get(name)).toEqual(
      expect.arrayContaining([...(MUTANT_REJECTED_BY[name] ?? [])]),
    );
  });

  it.each(FAULTS)('rejects the fault: $name', ({ name, by }) => {
    expect(rejections.get(name)).toContain(by);
  });

  it.each(WRONG_SUPPORTS)('rejects: $name', ({ name, by }) => {
    expect(rejections.get(name)).toContain(by);
  });

  it('has no case that detects nothing', () => {
    const useful = new Set([...rejections.values()].flat());
    expect(CONTRACT_CASES.map(({ name }) => name).filter((name) => !useful.has(name))).toEqual([]);
  });

  it('passes the unmodified registry', async () => {
    expect(await failuresOf(memoryStore(MemoryRegistry))).toEqual([]);
  });

  it.each(SAFE_VARIANTS)(
    'passes except for the missing control: $name',
    async ({ name, edits }) => {
      expect(await failuresOf(await mutated(edits))).toEqual(SAFE_VARIANT_IS_WITHOUT[name]);
    },
  );

  it('passes a random choice among the free worker IDs, if the store declares it', async () => {
    const { edits } = SAFE_VARIANTS.find(({ name }) => name.startsWith('random choice'))!;
    expect(await failuresOf(await mutated(edits), ['longest free'])).toEqual([]);
  });
});
