/**
 * Takes an id apart: its bits in the colours of their fields, and what each field means.
 *
 * Promise: the application reads the id, not this page; the last text typed wins. An id behind the
 * # of the address is read at once, so that a link can show one.
 */
import type { FieldView, GeneratorView, IdAnswer, IdView, WorkerView } from '../answers.js';
import { ask } from './asking.js';
import { element, found, setHidden, setText } from './elements.js';
import { agoText, localText, numberText, spanText, utcText } from './texts.js';

const TYPED_MS = 150;
const ID_BITS = 64;

export interface Surroundings {
  readonly generator: GeneratorView | undefined;
  readonly workers: readonly WorkerView[];
}

export class IdReader {
  private readonly text = found<HTMLInputElement>('id-text');
  private readonly form = found<HTMLSelectElement>('id-form-of-text');
  private readonly problem = found('id-problem');
  private readonly reading = found('id-reading');
  private timer: number | undefined;
  private asked = new AbortController();

  constructor(private readonly around: () => Surroundings) {
    this.form.append(...FORMS.map(([value, title]) => element('option', { value }, title)));
    this.text.value = decodeURIComponent(location.hash.slice(1));
    this.text.addEventListener('input', () => {
      clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.read(), TYPED_MS);
    });
    this.form.addEventListener('change', () => void this.read());
    found('id-form').addEventListener('submit', (event) => {
      event.preventDefault();
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
    try {
      const generator = this.around().generator?.name;
      const form = this.form.value;
      const answer = await ask<IdAnswer>('id', { text, form, generator }, signal);
      if ('problem' in answer) this.show(undefined, answer.problem);
      else this.show(answer, '');
    } catch (error) {
      if (!signal.aborted) this.show(undefined, (error as Error).message);
    }
  }

  private show(id: IdView | undefined, problem: string): void {
    setText(this.problem, problem);
    this.text.toggleAttribute('aria-invalid', problem !== '');
    setHidden(this.reading, id === undefined);
    const { generator, workers } = this.around();
    if (id === undefined || generator === undefined) return;
    const { fields } = generator.layout;
    this.reading.replaceChildren(
      element('p', { class: 'id' }, id.id),
      bitsOf(id, fields),
      meanings(id, generator, workers),
      otherForms(id),
    );
  }
}

/** 64 cells, the highest bit first; the list below says the same in words. */
function bitsOf({ id }: IdView, fields: readonly FieldView[]): HTMLElement {
  const digits = BigInt(id).toString(2).padStart(ID_BITS, '0');
  const cells = Array.from(digits, (digit, at) => {
    const bit = ID_BITS - 1 - at;
    const field = fields.find(({ shift, bits }) => bit >= shift && bit < shift + bits);
    const isFirst = field !== undefined && bit === field.shift + field.bits - 1;
    const title = `bit ${bit}, ${field?.name ?? 'unused'}`;
    const colour = field === undefined ? 'unused' : colourOf(field, fields);
    return element('span', { class: `${colour}${isFirst ? ' first' : ''}`, title }, digit);
  });
  return element('div', { class: 'bits', 'aria-hidden': 'true' }, ...cells);
}

/** Fields of one role beside each other are told apart by two shades. */
export function colourOf(field: FieldView, fields: readonly FieldView[]): string {
  const place = fields.filter(({ role }) => role === field.role).indexOf(field);
  return place % 2 === 0 ? `field ${field.role}` : `field ${field.role} second`;
}

function meanings(
  id: IdView,
  generator: GeneratorView,
  workers: readonly WorkerView[],
): HTMLElement {
  const { fields } = generator.layout;
  const items = fields.map((field) => {
    const { name, bits, shift } = field;
    const where = bits === 1 ? `bit ${shift}` : `bits ${shift + bits - 1} to ${shift}`;
    const value = numberText(id.values[name]!);
    return element(
      'div',
      { class: colourOf(field, fields) },
      element('dt', {}, `${name} `, element('small', {}, where)),
      element('dd', {}, element('strong', {}, value), ` ${meaningOf(field, id, generator)}`),
    );
  });
  const worker = element('p', {}, workerText(id.workerId, workers));
  return element('div', {}, element('dl', { class: 'meanings' }, ...items), worker);
}

function meaningOf({ role }: FieldView, id: IdView, { layout, counts }: GeneratorView): string {
  if (role === 'timestamp') {
    const ticks = layout.unitMs === 1 ? 'ms' : `times ${spanText(layout.unitMs)}`;
    const { timestampMs } = id;
    const ago = agoText(counts.readAtMs - timestampMs);
    const [utc, local] = [utcText(timestampMs), localText(timestampMs)];
    return `${ticks} since the epoch: ${utc}, here ${local}, ${ago}`;
  }
  if (role === 'sequence') return 'ids of the same tick came before it';
  if (role === 'call') return 'given by whoever asked for the id';
  return layout.fields.filter((field) => field.role === 'worker').length === 1
    ? 'is the worker id'
    : `is part of the worker id ${id.workerId}`;
}

/** Holders change: who holds the worker id now need not have made the id. */
function workerText(workerId: number, workers: readonly WorkerView[]): string {
  const holder = workers.find((worker) => worker.workerId === workerId)?.holder;
  if (holder === undefined) return `Nobody is known to hold worker id ${workerId} now.`;
  const { application, host, pid, heldForMs } = holder;
  return (
    `Worker id ${workerId} has been held by ${application} on ${host}, pid ${pid}, ` +
    `for ${spanText(heldForMs)} now.`
  );
}

function otherForms({ texts }: IdView): HTMLElement {
  const rows = FORMS.filter(([form]) => form !== 'decimal').map(([form, title]) =>
    element('div', {}, element('dt', {}, title), element('dd', {}, texts[form]!)),
  );
  const list = element('dl', { class: 'forms' }, ...rows);
  return element('details', {}, element('summary', {}, 'Other forms of text'), list);
}

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
