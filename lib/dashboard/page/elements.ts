/**
 * Creates and updates elements from text, never from markup, so no answer can inject any.
 *
 * Guarantee: an element that is up to date is not touched, so focus, selection and the position of
 * a screen reader survive every update.
 */
type Attributes = Readonly<Record<string, string | number>>;
type Content = Node | string;

const SVG = 'http://www.w3.org/2000/svg';

/** An element of index.html. */
export function found<E extends Element = HTMLElement>(id: string): E {
  return document.getElementById(id) as unknown as E;
}

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...content: readonly Content[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  setAttributes(made, attributes);
  made.append(...content);
  return made;
}

export function drawn(name: string, attributes: Attributes, ...content: Content[]): SVGElement {
  const made = document.createElementNS(SVG, name);
  setAttributes(made, attributes);
  made.append(...content);
  return made;
}

export function setAttributes(target: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (target.getAttribute(name) !== String(value)) target.setAttribute(name, String(value));
  }
}

export function setText(target: Element, text: string): void {
  if (target.textContent !== text) target.textContent = text;
}

export function setHidden(target: HTMLElement, isHidden: boolean): void {
  if (target.hidden !== isHidden) target.hidden = isHidden;
}

export type Term = readonly [name: string, text: string, look?: 'large'];

/** Counts and spans that say: nothing of this kind has happened. */
const ZERO = /^0( (ms|times|locks|callers))?$/;

/**
 * Fills a list of terms; called again with the same terms it changes only the texts. Large ones
 * stand before the others, and what is zero is quiet.
 */
export function setTerms(list: HTMLElement, terms: readonly Term[]): void {
  const names = [...list.querySelectorAll('dt')].map(({ textContent }) => textContent);
  if (names.join('\n') !== terms.map(([name]) => name).join('\n')) {
    const pairs = terms.map(([name]) => element('div', {}, element('dt', {}, name), element('dd')));
    list.replaceChildren(...pairs);
  }
  const texts = list.querySelectorAll('dd');
  terms.forEach(([, text, look], at) => {
    setText(texts[at]!, text);
    const quiet = ZERO.test(text) ? 'zero' : '';
    setAttributes(texts[at]!.parentElement!, { class: look ?? quiet });
  });
}

/** Points a link to the runbook of what is wrong, or hides it. */
export function setRunbook(link: HTMLAnchorElement, address: string | undefined): void {
  setHidden(link, address === undefined);
  if (address !== undefined) setAttributes(link, { href: address });
}

export function runbookLink(): HTMLAnchorElement {
  return element('a', { rel: 'noreferrer', target: '_blank' }, 'Open the runbook');
}

/** Fills a part of a bar; the number is shown next to it as text. */
export function setBar(bar: HTMLElement, share: number): void {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
  bar.style.setProperty('--share', `${percent}%`);
}

/**
 * Formats numbers and times in the same way everywhere on the page. Durations are short enough for
 * a table.
 */
const NUMBER = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 });
const LOCAL = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'medium',
  timeStyle: 'long',
});

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
export const YEAR_MS = 365.25 * DAY_MS;

/** The largest first: the unit, its letter, and the smaller unit shown after it. */
const UNITS = [
  [YEAR_MS, 'y', DAY_MS, 'd'],
  [DAY_MS, 'd', HOUR_MS, 'h'],
  [HOUR_MS, 'h', MINUTE_MS, 'min'],
  [MINUTE_MS, 'min', SECOND_MS, 's'],
] as const;

export function numberText(number: number): string {
  return NUMBER.format(number);
}

/** Writes `2 h 5 min`, `48 s`, `350 ms`. */
export function spanText(ms: number): string {
  if (ms < 0) return `-${spanText(-ms)}`;
  const units = UNITS.find(([unitMs]) => ms >= unitMs);
  if (units === undefined) {
    return ms < SECOND_MS ? `${Math.round(ms)} ms` : `${Math.floor(ms / SECOND_MS)} s`;
  }
  const [unitMs, unit, restMs, rest] = units;
  const whole = Math.floor(ms / unitMs);
  const left = Math.floor((ms - whole * unitMs) / restMs);
  return left === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${left} ${rest}`;
}

/** Says how long ago, or how far ahead. */
export function agoText(ms: number): string {
  return ms >= 0 ? `${spanText(ms)} ago` : `in ${spanText(-ms)}`;
}

export function utcText(ms: number): string {
  return new Date(ms).toISOString().replace('T', ' ').replace('Z', ' UTC');
}

/** Writes a time in the time zone of the browser. */
export function localText(ms: number): string {
  return LOCAL.format(ms);
}

export function timeText(date: Date): string {
  return date.toLocaleTimeString('en-GB');
}

export function dayText(ms: number): string {
  return new Date(ms).toISOString().split('T')[0]!;
}

/** A count with its noun: `1 wait`, `2 waits`. */
export function countText(count: number, one: string): string {
  return `${numberText(count)} ${one}${count === 1 ? '' : 's'}`;
}
