// @ts-check
/** Explores one variant with the real registry, or with the mutant that its edits make of it. */
import { loadLibrary } from '../mutants/load-library.mjs';
import { explore } from './explorer.mjs';
/** @import { Variant } from './variants.mjs' */

export async function runVariant(/** @type {Variant} */ { bounds, edits, fault }) {
  const { MemoryRegistry } = await loadLibrary(edits ?? [], 'stores/memory/index.ts');
  return explore({ MemoryRegistry, bounds, fault });
}
