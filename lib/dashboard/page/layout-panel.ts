/**
 * Shows the layout of the ids: its fields, and how much of its lifetime is used.
 * Every number comes from the layout in the answer.
 */
import type { GeneratorView, LayoutView, LeasedGeneratorView, WorkerView } from '../answers.js';
import {
  dayText,
  element,
  found,
  numberText,
  setAttributes,
  setBar,
  setHidden,
  setTerms,
  setText,
  spanText,
  YEAR_MS,
} from './elements.js';
import { colourOf } from './id-reader.js';

export class LayoutPanel {
  private readonly fields = element('div', { class: 'fields', 'aria-hidden': 'true' });
  private readonly bar = element('div', { class: 'bar lifetime', 'aria-hidden': 'true' });
  private readonly used = element('p');
  private readonly terms = element('dl');
  private drawnFor = '';

  constructor(location: HTMLElement) {
    location.append(this.fields, this.used, this.bar, this.terms);
  }

  show({ layout, workerIds, counts }: GeneratorView): void {
    setHidden(found('layout-panel'), layout === undefined);
    if (layout === undefined) return;
    this.draw(layout);
    const { epochMs, endsMs } = layout;
    const share = (counts.readAtMs - epochMs) / (endsMs - epochMs);
    const left = Math.floor((endsMs - counts.readAtMs) / (YEAR_MS / 10)) / 10;
    setText(
      this.used,
      left > 0
        ? `${dayText(epochMs)} to ${dayText(endsMs)}: ${numberText(share * 100)} % is used, ` +
            `${numberText(left)} years are left.`
        : `It ran out on ${dayText(endsMs)}: no id can be made.`,
    );
    setBar(this.bar, share);
    setTerms(this.terms, [
      ['fingerprint', layout.fingerprint],
      ['one tick', spanText(layout.unitMs)],
      ['worker ids', `0 to ${numberText(layout.workerIdMax)}`],
      ...(workerIds === undefined ? [] : [mayLease(workerIds)]),
      ['ids per second and worker', numberText(layout.idsPerSecond)],
    ]);
  }

  private draw({ fingerprint, fields }: LayoutView): void {
    if (fingerprint === this.drawnFor) return;
    this.drawnFor = fingerprint;
    const boxes = fields.map((field) => {
      const box = element(
        'span',
        { class: colourOf(field, fields) },
        `${field.bits} ${field.name}`,
      );
      box.style.setProperty('flex-grow', String(field.bits));
      return box;
    });
    this.fields.replaceChildren(...boxes);
  }
}

function mayLease({ min, max }: NonNullable<GeneratorView['workerIds']>): [string, string] {
  return ['this application may lease', `${numberText(min)} to ${numberText(max)}`];
}

/*
 * Counts the worker ids in each state, next to the sign that the map uses for it.
 *
 * The numbers add up to all worker ids that this application may lease, and any others in the list.
 */

const SIGNS = ['held', 'resting', 'ended', 'fixed', 'free'] as const;

interface Counted {
  readonly generator: LeasedGeneratorView;
  readonly workers: readonly WorkerView[];
  /** True if the list has every worker id in use. */
  readonly isKnown: boolean;
}

export function showLegend(list: HTMLElement, { generator, workers, isKnown }: Counted): void {
  const counts = SIGNS.map((sign) => [sign, countOf(sign, generator, workers)] as const);
  const format = counts.filter(([sign, count]) => count > 0 || sign === 'free');
  const texts = format.map(([sign, count]) =>
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
