/**
 * What axe-core finds on a page. Only what is wrong is brought over from the browser: all that is
 * right would take longer than to find it.
 */
import { readFile } from 'node:fs/promises';
import type { NodeResult, Result } from 'axe-core';
import type { Page } from 'playwright-core';
import { ROOT } from '../tidy/tree.js';

const SOURCE = await readFile(`${ROOT}/node_modules/axe-core/axe.min.js`, 'utf8');

interface Finding extends NodeResult {
  /** The rule. */
  readonly id: string;
}

export interface Axed {
  readonly violations: readonly Finding[];
  /** How many rules have found something to look at, and nothing wrong with it. */
  readonly passed: number;
}

export async function axed(page: Page): Promise<Axed> {
  await page.evaluate(SOURCE);
  const { violations, passed } = await page.evaluate<{ violations: Result[]; passed: number }>(`
    axe.run({ resultTypes: ['violations'] }).then(({ violations, passes }) => ({
      violations,
      passed: passes.length,
    }))
  `);
  const found = violations.flatMap(({ id, nodes }) => nodes.map((node) => ({ ...node, id })));
  return { violations: found, passed };
}
