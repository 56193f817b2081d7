/**
 * The contract suite attacked: supports that are wrong on purpose must be rejected, each by the
 * case that is about its fault; those that are right in another way must pass.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { MemoryRegistry } from '../../lib/stores/memory/index.js';
import { CONTRACT_CASES } from '../../lib/testing/describe-distributed-support.js';
import {
  describeDistributedSupport,
  type HarnessParts,
  type ContractNeed,
} from '../../lib/testing/index.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { REGISTRY_MUTANTS, SAFE_VARIANTS, TIME_MUTANTS } from '../mutants/mutants.mjs';
import {
  MUTANT_REJECTED_BY,
  SAFE_VARIANT_IS_WITHOUT,
  BRANCH_FAULTS,
  CLAIM_FAULTS,
  TIME_FAULTS,
  WRONG_SUPPORTS,
} from './wrong-supports.js';
import { LAYOUT_FAULTS } from './layout-faults.js';
import { REGISTRY_FAULTS } from './registry-faults.js';
import { memoryStore } from './settable-stores.js';

/** Those of the store: a suite of supports sees no keeper. */
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

/** The cases of the suite that a support fails. */
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

async function mutated(edits: Parameters<typeof loadLibrary>[0]) {
  const { MemoryRegistry: Mutant } = (await loadLibrary(edits, 'stores/memory/index.ts')) as {
    MemoryRegistry: typeof MemoryRegistry;
  };
  return memoryStore(Mutant);
}

describe('the contract suite', () => {
  /** By the name of what is broken: the cases that reject it. */
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

  it('has no case that rejects nothing', () => {
    const useful = new Set([...rejections.values()].flat());
    expect(CONTRACT_CASES.map(({ name }) => name).filter((name) => !useful.has(name))).toEqual([]);
  });

  it('passes the registry as it is', async () => {
    expect(await failuresOf(memoryStore(MemoryRegistry))).toEqual([]);
  });

  it.each(SAFE_VARIANTS)('passes but for what it is without: $name', async ({ name, edits }) => {
    expect(await failuresOf(await mutated(edits))).toEqual(SAFE_VARIANT_IS_WITHOUT[name]);
  });

  it('passes a random choice among the free worker ids, where that is said', async () => {
    const { edits } = SAFE_VARIANTS.find(({ name }) => name.startsWith('random choice'))!;
    expect(await failuresOf(await mutated(edits), ['longest free'])).toEqual([]);
  });
});
