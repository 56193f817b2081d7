/**
 * Shows the layout of the ids: its fields, and how much of its lifetime is used.
 * Every number comes from the layout in the answer.
 */
import type { GeneratorView, LayoutView } from '../answers.js';
import { element, found, setBar, setHidden, setTerms, setText } from './elements.js';
import { colourOf } from './id-reading.js';
import { YEAR_MS, dayText, numberText, spanText } from './texts.js';

export class LayoutPanel {
  private readonly fields = element('div', { class: 'fields', 'aria-hidden': 'true' });
  private readonly bar = element('div', { class: 'bar lifetime', 'aria-hidden': 'true' });
  private readonly used = element('p');
  private readonly terms = element('dl');
  private drawnFor = '';

  constructor(place: HTMLElement) {
    place.append(this.fields, this.used, this.bar, this.terms);
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

  /** Draws each field as wide as its bits. */
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
