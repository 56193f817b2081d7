/**
 * Creates and updates elements from text, never from markup, so no answer can inject any.
 *
 * Promise: an element that is up to date is not touched, so focus, selection and the position of a
 * screen reader survive every update.
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

/** Fills a list of terms; called again with the same terms it changes only the texts. */
export function setTerms(list: HTMLElement, terms: readonly (readonly [string, string])[]): void {
  const names = [...list.querySelectorAll('dt')].map(({ textContent }) => textContent);
  if (names.join('\n') !== terms.map(([name]) => name).join('\n')) {
    const pairs = terms.map(([name]) => element('div', {}, element('dt', {}, name), element('dd')));
    list.replaceChildren(...pairs);
  }
  const texts = list.querySelectorAll('dd');
  terms.forEach(([, text], at) => setText(texts[at]!, text));
}

/** Fills a part of a bar; the number is shown next to it as text. */
export function setBar(bar: HTMLElement, share: number): void {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
  bar.style.setProperty('--share', `${percent}%`);
}
