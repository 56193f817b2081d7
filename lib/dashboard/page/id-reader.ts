/**
 * Where an id is typed, and asked of the application.
 *
 * Promise: the application reads the id, not this page; the last text typed wins. An id behind the
 * # of the address is read at once, and one that was read stands there, so that links can show it.
 */
import type { GeneratorView, IdAnswer, WorkerView } from '../answers.js';
import { ask, faultText } from './asking.js';
import { element, found, setHidden, setText } from './elements.js';
import { IdReading } from './id-reading.js';
import { FORMS } from './text-forms.js';

const TYPED_MS = 150;

export interface Surroundings {
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
  /** Whoever looks came by a link to an id. */
  private isFollowed: boolean;
  private asked = new AbortController();

  constructor(private readonly around: () => Surroundings) {
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
    const generator = this.around().generator?.name;
    const form = this.form.value;
    try {
      const answer = await ask<IdAnswer>('id', { text, form, generator }, signal);
      this.show(answer, 'problem' in answer ? answer.problem : '');
    } catch (error) {
      if (!signal.aborted) this.show(undefined, faultText(error));
    }
  }

  /** Time goes on, and holders change. */
  refresh(): void {
    const { generator, workers } = this.around();
    if (generator !== undefined) this.reading?.refresh(generator, workers);
  }

  private show(answer: IdAnswer | undefined, problem: string): void {
    const { generator } = this.around();
    const isRead = answer !== undefined && 'id' in answer && generator !== undefined;
    this.reading = isRead ? new IdReading(answer, generator) : undefined;
    setText(this.problem, problem);
    this.text.toggleAttribute('aria-invalid', problem !== '');
    setHidden(this.place, !isRead);
    this.place.replaceChildren(...(this.reading?.parts ?? []));
    this.refresh();
    if (this.isFollowed) lookHere();
    this.isFollowed = false;
    if (isRead) history.replaceState(null, '', `#${answer.id}`);
  }
}

/** Who follows a link to an id came for it, and it stands below the worker ids. */
function lookHere(): void {
  found('id-title').scrollIntoView();
}

/** The # of an address may also name a place on the page, or be no text at all. */
function idInAddress(): string | undefined {
  const written = location.hash.slice(1);
  if (written === '' || document.getElementById(written) !== null) return undefined;
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}
