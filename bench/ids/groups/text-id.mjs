// Group: one id as decimal text, the way each Snowflake-like library leads to it.
//
// Guarantee: a library that gives anything but decimal text fails the group.
import { inTurnsApart } from '../../harness/turns.mjs';
import { figure, median, span, times, bold } from '../../harness/figures.mjs';
import { OURS, isOurs, makerNamed, snowflakeMakers } from '../makers.mjs';
import { BURST, nsPerCall } from '../timing.mjs';

export async function measure(/** @type {string} */ name) {
  const { open, perMs = BURST } = makerNamed(name);
  const { text } = await open();
  const sample = text();
  if (!/^\d{15,20}$/.test(sample)) throw new Error(`Expected decimal text, got ${sample}.`);
  return { ns: nsPerCall(text, { count: Math.min(BURST, perMs) }) };
}

async function run(/** @type {import('../../harness/turns.mjs').RunOptions} */ options) {
  const cases = snowflakeMakers.map(({ name }) => name);
  const byCase = await inTurnsApart({ file: import.meta.url, cases }, options);
  const nsOf = (/** @type {string} */ name) => median(byCase.get(name).map(({ ns }) => ns));
  return cases
    .toSorted((a, b) => nsOf(a) - nsOf(b))
    .map((name) => [
      isOurs(name) ? bold(name) : name,
      figure(nsOf(name)),
      span(byCase.get(name).map(({ ns }) => ns)),
      times(nsOf(name), nsOf(OURS)),
    ]);
}

export const textId = {
  title: 'One id as decimal text',
  explanation:
    'What JSON and most ORMs want, measured as in the first table. ' +
    'Ours is nextIdString(), which makes no bigint; @theinternetfolks/snowflake gives text of ' +
    'itself; of the others it is their bigint or number, then toString(). ' +
    'flake-idgen gives a Buffer, which is read as a bigint first.',
  columns: ['library', 'ns per id', 'min–max', '× ours'],
  run,
};
