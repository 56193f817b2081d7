/**
 * Where each figure of the documents comes from: the tables of bench/RESULTS.md, a constant or
 * layout of the library, or words of a test or of another file. A few are not ours to show.
 */
import { readTree } from '../../tidy/tree.js';
import { isShownAs, numberOf, type Figure, type Sources } from './figure.js';
import { GUIDES } from './guides.js';
import { OPERATING } from './operating.js';

export const SOURCES: Sources = { ...GUIDES, ...OPERATING };

/** By page, by figure: whose it is. What was aimed at, and how long a recorded run took, too. */
export const NOT_OURS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'docs/concepts/choosing.md': { '5 ms': 'Leaf' },
  'docs/concepts/layout.md': {
    '98 %': 'an example',
    '99 %': 'an example',
    '99.9 %': 'an example',
    '99.99 %': 'an example',
  },
  'docs/guides/etcd.md': { '2 s': 'the election timeout of etcd' },
  'docs/guides/ids-at-the-edge.md': { '100 kB': 'the body parser of Express' },
  'docs/internals/performance.md': { '15 ns': 'a target', '99 %': 'a target', '1 %': 'a target' },
  'docs/internals/proof.md': {
    '18 min': 'a run that its row names',
    '15 s': 'runs of the control',
    '30 s': 'runs of the control',
    '50 s': 'runs of the control',
  },
  'docs/internals/track-record.md': { '100 ms': 'hutool', '2 s': 'hutool' },
  'docs/operating/other-platforms.md': { '1.6 s': 'PM2' },
};

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)?.text ?? '';

export const nameOf = ({ number, unit }: Omit<Figure, 'path'>): string => `${number} ${unit}`;

/** Whether the words are in their file, and have the figure. */
function isQuoted(figure: Figure, source: string): boolean {
  const [, path = '', words = ''] = /^(\S+): (.*)$/.exec(source) ?? [];
  const numbers = (words.match(/\d[\d_,]*(?:\.\d+)?/g) ?? []).map(numberOf);
  const isIn = (value: number) =>
    isShownAs(value, figure) || isShownAs(value, { ...figure, unit: '' });
  return textOf(path).includes(words) && numbers.some(isIn);
}

/** Whether it has a source, which the tables above give. */
export function isFounded(
  figure: Figure,
  source: number | string | undefined = SOURCES[figure.path]?.[nameOf(figure)],
): boolean {
  if (typeof source === 'number') return isShownAs(source, figure);
  if (typeof source === 'string') return isQuoted(figure, source);
  return NOT_OURS[figure.path]?.[nameOf(figure)] !== undefined;
}
