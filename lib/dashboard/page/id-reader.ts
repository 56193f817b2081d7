/**
 * The field for an id, which the application reads, not this page.
 *
 * Guarantee: the last text typed wins. An id after the # of the address is read at once, and an id
 * that was read is put there, so that it can be linked to.
 */
import type {
  FieldView,
  GeneratorView,
  IdAnswer,
  IdView,
  LayoutView,
  WorkerView,
} from '../answers.js';
import { ask, faultText } from './polling.js';
import {
  agoText,
  element,
  found,
  holderText,
  localText,
  numberText,
  said,
  setHidden,
  setText,
  spanText,
  utcText,
} from './elements.js';

const TYPED_MS = 150;

export class IdReader {
  private readonly text = found<HTMLInputElement>('id-text');
  private readonly form = found<HTMLSelectElement>('id-form-of-text');
  private readonly problem = found('id-problem');
  private readonly location = found('id-reading');
  private reading: IdReading | undefined;
  private timer: number | undefined;
  /** The page was opened by a link to an id. */
  private isFollowed: boolean;
  private asked = new AbortController();

  constructor(
    private readonly context: () => {
      readonly generator: GeneratorView | undefined;
      readonly workers: readonly WorkerView[];
    },
  ) {
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
    const generator = this.context().generator?.name;
    const form = this.form.value;
    try {
      const answer = await ask<IdAnswer>('id', { text, form, generator }, signal);
      this.show(answer, 'problem' in answer ? answer.problem : '');
    } catch (error) {
      if (!signal.aborted) this.show(undefined, faultText(error));
    }
  }

  refresh(): void {
    const { generator, workers } = this.context();
    if (generator !== undefined) this.reading?.refresh(generator, workers);
  }

  private show(answer: IdAnswer | undefined, problem: string): void {
    const { generator } = this.context();
    const layout = generator?.layout;
    const isRead = answer !== undefined && 'id' in answer && layout !== undefined;
    this.reading = isRead ? new IdReading(answer, layout) : undefined;
    setText(this.problem, problem);
    this.text.toggleAttribute('aria-invalid', problem !== '');
    setHidden(this.location, !isRead);
    this.location.replaceChildren(...(this.reading?.parts ?? []));
    this.refresh();
    if (this.isFollowed) found('id-title').scrollIntoView();
    this.isFollowed = false;
    if (isRead) history.replaceState(null, '', `#${answer.id}`);
  }
}

/** A link to an id should show it, and it is below the worker ids. */
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

/*
 * Shows an id taken apart: its bits in the colours of their fields, and what each field means.
 * The list under the bits says the same in words.
 */

const ID_BITS = 64;

class IdReading {
  readonly parts: readonly HTMLElement[];
  private readonly ago = element('span');
  private readonly worker = element('p');

  constructor(
    private readonly id: IdView,
    layout: LayoutView,
  ) {
    const meanings = layout.fields.map((field) => this.meaning(field, layout));
    this.parts = [
      element('p', { class: 'id' }, id.id),
      bitsOf(id, layout.fields),
      element('dl', { class: 'meanings' }, ...meanings),
      this.worker,
      otherForms(id),
    ];
  }

  refresh({ counts }: GeneratorView, workers: readonly WorkerView[]): void {
    setText(this.ago, agoText(counts.readAtMs - this.id.timestampMs));
    setText(this.worker, workerText(this.id.workerId, workers));
  }

  private meaning(field: FieldView, { fields, unitMs }: LayoutView): HTMLElement {
    const { name, role, bits, shift } = field;
    const where =
      bits === 1 ? said('bit {}', shift) : said('bits {} to {}', shift + bits - 1, shift);
    const value = element('strong', {}, numberText(this.id.values[name]!));
    const meant = element('dd', {}, value, ` ${meaningOf(role, this.id, { fields, unitMs })}`);
    if (role === 'timestamp') meant.append(', ', this.ago);
    const term = element('dt', {}, `${name} `, element('small', {}, where));
    return element('div', { class: colourOf(field, fields) }, term, meant);
  }
}

/** Adjacent fields of one role have two different shades. */
export function colourOf(field: FieldView, fields: readonly FieldView[]): string {
  const location = fields.filter(({ role }) => role === field.role).indexOf(field);
  return location % 2 === 0 ? `field ${field.role}` : `field ${field.role} second`;
}

/** 64 cells, the most significant bit first. */
function bitsOf({ id }: IdView, fields: readonly FieldView[]): HTMLElement {
  const digits = BigInt(id).toString(2).padStart(ID_BITS, '0');
  const cells = Array.from(digits, (digit, at) => {
    const bit = ID_BITS - 1 - at;
    const field = fields.find(({ shift, bits }) => bit >= shift && bit < shift + bits);
    const isFirst = field !== undefined && bit === field.shift + field.bits - 1;
    const title = said('bit {}, {}', bit, field?.name ?? said('unused'));
    const colour = field === undefined ? 'unused' : colourOf(field, fields);
    return element('span', { class: `${colour}${isFirst ? ' first' : ''}`, title }, digit);
  });
  return element('div', { class: 'bits', 'aria-hidden': 'true' }, ...cells);
}

function meaningOf(
  role: FieldView['role'],
  { timestampMs, workerId }: IdView,
  { fields, unitMs }: { readonly fields: readonly FieldView[]; readonly unitMs: number },
): string {
  if (role === 'timestamp') {
    const tick = unitMs === 1 ? 'ms' : `× ${spanText(unitMs)}`;
    const [utc, here] = [utcText(timestampMs), localText(timestampMs)];
    return said('{} since the epoch: {}, here {}', tick, utc, here);
  }
  if (role === 'sequence') return said('is its number in the tick');
  if (role === 'call') return said('was given in the call that made the id');
  const isAlone = fields.filter((field) => field.role === 'worker').length === 1;
  return isAlone ? said('is the worker id') : said('is part of the worker id {}', workerId);
}

/** The holder may have changed since the id was made. */
function workerText(workerId: number, workers: readonly WorkerView[]): string {
  const worker = workers.find((one) => one.workerId === workerId && one.state !== 'ended');
  const holder = worker?.holder;
  if (holder === undefined) return said('Worker id {} has no known holder now.', workerId);
  const { heldForMs } = holder;
  const who = holderText(holder);
  return heldForMs === undefined
    ? said('Worker id {} is now held by {}.', workerId, who)
    : said('Worker id {} is now held by {} (for {}).', workerId, who, spanText(heldForMs));
}

function otherForms({ texts }: IdView): HTMLElement {
  const rows = FORMS.filter(([form]) => form !== 'decimal').map(([form, title]) =>
    element('div', {}, element('dt', {}, title), element('dd', {}, texts[form]!)),
  );
  const list = element('dl', { class: 'forms' }, ...rows);
  return element('details', {}, element('summary', {}, said('Other text forms')), list);
}

/**
 * The text forms that the application reads, with a title for each.
 * The names are those of `textForms`; a test compares them.
 */
const FORMS: readonly (readonly [form: string, title: string])[] = [
  ['decimal', 'decimal'],
  ['hex', 'hex'],
  ['base36', 'base 36'],
  ['base58', 'base 58'],
  ['base58Bwmarrin', 'base 58, bwmarrin'],
  ['zBase32', 'z-base-32'],
  ['crockford32', 'Crockford base 32'],
  ['base62', 'base 62'],
  ['sortableDecimal', 'sortable decimal'],
  ['sortableHex', 'sortable hex'],
  ['sortableBase36', 'sortable base 36'],
  ['sortableCrockford32', 'sortable Crockford base 32'],
  ['sortableBase62', 'sortable base 62'],
];
