/**
 * Counts the worker ids in each state, next to the sign that the map uses for it.
 *
 * The numbers add up to all worker ids that this application may lease, and any others in the list.
 */
import type { LeasedGeneratorView, WorkerView } from '../answers.js';
import { element, setAttributes, setText } from './elements.js';

const SIGNS = ['held', 'resting', 'ended', 'fixed', 'free'] as const;

interface Counted {
  readonly generator: LeasedGeneratorView;
  readonly workers: readonly WorkerView[];
  /** Whether the list has every worker id in use. */
  readonly isKnown: boolean;
}

export function showLegend(list: HTMLElement, { generator, workers, isKnown }: Counted): void {
  const counts = SIGNS.map((sign) => [sign, countOf(sign, generator, workers)] as const);
  const shown = counts.filter(([sign, count]) => count > 0 || sign === 'free');
  const texts = shown.map(([sign, count]) =>
    sign === 'free' && !isKnown ? ['free', 'others: unknown'] : [sign, `${count} ${sign}`],
  );
  while (list.children.length > texts.length) list.lastElementChild!.remove();
  while (list.children.length < texts.length) list.append(element('li'));
  texts.forEach(([sign, text], at) => {
    const item = list.children[at]!;
    setAttributes(item, { class: sign! });
    setText(item, text!);
  });
}

function countOf(
  sign: (typeof SIGNS)[number],
  { workerIds: { min, max } }: LeasedGeneratorView,
  workers: readonly WorkerView[],
): number {
  if (sign !== 'free') return workers.filter(({ state }) => state === sign).length;
  const taken = workers.filter(({ workerId }) => workerId >= min && workerId <= max);
  return max - min + 1 - taken.length;
}
