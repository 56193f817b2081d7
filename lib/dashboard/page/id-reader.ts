/**
 * The field for an id, which the application reads, not this page.
 *
 * Promise: the last text typed wins. An id after the # of the address is read at once, and an id
 * that was read is put there, so that it can be linked to.
 */
import type { GeneratorView, IdAnswer, WorkerView } from '../answers.js';
import { ask, faultText } from './asking.js';
import { element, found, setHidden, setText } from './elements.js';
import { IdReading } from './id-reading.js';
import { FORMS } from './text-forms.js';

const TYPED_MS = 150;

/** What is shown together with an id. */
export interface ShownWith {
  readonly generator: GeneratorView | undefined;
  readonly workers: readonly WorkerView[];
}

export class IdReader {
  private readonly text = found<HTMLInputElement>('id-text');
  private readonly form = found<HTMLSelectElement>('id-form-of-text');
  private readonly problem = found('id-problem');
  private readonly place = found('id-reading');
  private reading: IdReading | undefined;
  private timer: number | undefined;
  /** The page was opened by a link to an id. */
  private isFollowed: boolean;
  private asked = new AbortController();

  constructor(private readonly shownWith: () => ShownWith) {
    this.form.append(...FORMS.map(([value, title]) => element('option', { value }, title)));
    this.text.value = idInAddress() ?? '';
    this.isFollowed = this.text.value !== '';
    this.text.addEventListener('input', () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.read(), TYPED_MS);
    });
    this.form.addEventListener('change', () => void this.read());
    found('id-form').addEventListener('submit', (event) => {
      event.preventDefault();
      void this.read();
    });
    window.addEventListener('hashchange', () => {
      const text = idInAddress();
      if (text === undefined) return;
      this.text.value = text;
      this.form.value = 'decimal';
      this.isFollowed = true;
      void this.read();
    });
  }

  async read(): Promise<void> {
    clearTimeout(this.timer);
    this.asked.abort();
    this.asked = new AbortController();
    const { signal } = this.asked;
    const text = this.text.value.trim();
    if (text === '') return this.show(undefined, '');
    const generator = this.shownWith().generator?.name;
    const form = this.form.value;
    try {
      const answer = await ask<IdAnswer>('id', { text, form, generator }, signal);
      this.show(answer, 'problem' in answer ? answer.problem : '');
    } catch (error) {
      if (!signal.aborted) this.show(undefined, faultText(error));
    }
  }

  /** Shows the current age and holder. */
  refresh(): void {
    const { generator, workers } = this.shownWith();
    if (generator !== undefined) this.reading?.refresh(generator, workers);
  }

  private show(answer: IdAnswer | undefined, problem: string): void {
    const { generator } = this.shownWith();
    const layout = generator?.layout;
    const isRead = answer !== undefined && 'id' in answer && layout !== undefined;
    this.reading = isRead ? new IdReading(answer, layout) : undefined;
    setText(this.problem, problem);
    this.text.toggleAttribute('aria-invalid', problem !== '');
    setHidden(this.place, !isRead);
    this.place.replaceChildren(...(this.reading?.parts ?? []));
    this.refresh();
    if (this.isFollowed) scrollToId();
    this.isFollowed = false;
    if (isRead) history.replaceState(null, '', `#${answer.id}`);
  }
}

/** A link to an id should show it, and it is below the worker ids. */
function scrollToId(): void {
  found('id-title').scrollIntoView();
}

/** After the # there may also be the name of a section, or an invalid escape. */
function idInAddress(): string | undefined {
  const written = location.hash.slice(1);
  if (written === '' || document.getElementById(written) !== null) return undefined;
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}
