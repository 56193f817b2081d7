/**
 * Shows an id taken apart: its bits in the colours of their fields, and what each field means.
 * The list under the bits says the same in words.
 */
import type { FieldView, GeneratorView, IdView, LayoutView, WorkerView } from '../answers.js';
import { element, setText } from './elements.js';
import { FORMS } from './text-forms.js';
import { agoText, localText, numberText, spanText, utcText } from './texts.js';

const ID_BITS = 64;

export class IdReading {
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
    const where = bits === 1 ? `bit ${shift}` : `bits ${shift + bits - 1} to ${shift}`;
    const value = element('strong', {}, numberText(this.id.values[name]!));
    const said = element('dd', {}, value, ` ${meaningOf(role, this.id, { fields, unitMs })}`);
    if (role === 'timestamp') said.append(', ', this.ago);
    const term = element('dt', {}, `${name} `, element('small', {}, where));
    return element('div', { class: colourOf(field, fields) }, term, said);
  }
}

/** Adjacent fields of one role have two different shades. */
export function colourOf(field: FieldView, fields: readonly FieldView[]): string {
  const place = fields.filter(({ role }) => role === field.role).indexOf(field);
  return place % 2 === 0 ? `field ${field.role}` : `field ${field.role} second`;
}

/** 64 cells, the most significant bit first. */
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

function meaningOf(
  role: FieldView['role'],
  { timestampMs, workerId }: IdView,
  { fields, unitMs }: { readonly fields: readonly FieldView[]; readonly unitMs: number },
): string {
  if (role === 'timestamp') {
    const ticks = unitMs === 1 ? 'ms' : `times ${spanText(unitMs)}`;
    return `${ticks} since the epoch: ${utcText(timestampMs)}, here ${localText(timestampMs)}`;
  }
  if (role === 'sequence') return 'is its number in the tick';
  if (role === 'call') return 'was given in the call that made the id';
  const isAlone = fields.filter((field) => field.role === 'worker').length === 1;
  return isAlone ? 'is the worker id' : `is part of the worker id ${workerId}`;
}

/** The holder may have changed since the id was made. */
function workerText(workerId: number, workers: readonly WorkerView[]): string {
  const worker = workers.find((one) => one.workerId === workerId && one.state !== 'ended');
  const holder = worker?.holder;
  if (holder === undefined) return `Worker id ${workerId} has no known holder now.`;
  const { application, host, pid, heldForMs } = holder;
  const who = `${application === '' ? '' : `${application} on `}${host}, pid ${pid}`;
  const since = heldForMs === undefined ? '' : ` (for ${spanText(heldForMs)})`;
  return `Worker id ${workerId} is now held by ${who}${since}.`;
}

function otherForms({ texts }: IdView): HTMLElement {
  const rows = FORMS.filter(([form]) => form !== 'decimal').map(([form, title]) =>
    element('div', {}, element('dt', {}, title), element('dd', {}, texts[form]!)),
  );
  const list = element('dl', { class: 'forms' }, ...rows);
  return element('details', {}, element('summary', {}, 'Other text forms'), list);
}
