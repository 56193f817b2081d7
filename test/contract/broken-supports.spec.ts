/**
 * The contract suite attacked: supports that are wrong on purpose must be rejected by at least one
 * case, and those that are right in another way must pass.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryRegistry } from '../../lib/backends/memory/index.js';
import {
  describeDistributedSupport,
  type BenchParts,
  type ContractNeed,
} from '../../lib/testing/index.js';
import { loadLibrary } from '../mutants/load-library.mjs';
import { REGISTRY_MUTANTS, SAFE_VARIANTS } from '../mutants/mutants.mjs';
import { memoryStore } from './settable-stores.js';
import { WRONG_SUPPORTS } from './wrong-supports.js';

/** The cases of the suite that a support fails. */
async function failuresOf(store: Omit<BenchParts, 'expect'>, leaveOut: ContractNeed[] = []) {
  const cases: { name: string; run: () => Promise<void> }[] = [];
  const test = (name: string, run: () => Promise<void>) => void cases.push({ name, run });
  describeDistributedSupport({ test, expect, leaveOut, ...store });
  const failed: string[] = [];
  for (const { name, run } of cases) await run().catch(() => failed.push(name));
  return failed;
}

async function mutated(edits: Parameters<typeof loadLibrary>[0]) {
  const { MemoryRegistry: Mutant } = (await loadLibrary(edits, 'backends/memory/index.ts')) as {
    MemoryRegistry: typeof MemoryRegistry;
  };
  return memoryStore(Mutant);
}

describe('the contract suite', () => {
  it.each(REGISTRY_MUTANTS)('rejects: $name', async ({ edits }) => {
    expect(await failuresOf(await mutated(edits))).not.toEqual([]);
  });

  it.each(WRONG_SUPPORTS)('rejects: $name', async ({ build }) => {
    expect(await failuresOf(build(), ['workers'])).not.toEqual([]);
  });

  it('passes the registry as it is', async () => {
    expect(await failuresOf(memoryStore(MemoryRegistry))).toEqual([]);
  });

  it('passes a random choice among the free worker ids, where that is said', async () => {
    const { edits } = SAFE_VARIANTS.find(({ name }) => name.startsWith('random choice'))!;
    expect(await failuresOf(await mutated(edits), ['longest free'])).toEqual([]);
  });
});
