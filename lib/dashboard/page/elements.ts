/**
 * Elements of the page, made from text and never from markup, so that no answer can bring any.
 *
 * Promise: what already says the right thing is not touched, so that a page that is told the same
 * again every two seconds keeps focus, selection and the reading place of a screen reader.
 */
type Attributes = Readonly<Record<string, string | number>>;
type Content = Node | string;

const SVG = 'http://www.w3.org/2000/svg';

/** An element that the page has. */
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

/** A list of terms; called again with the same terms it changes the texts alone. */
export function setTerms(list: HTMLElement, terms: readonly (readonly [string, string])[]): void {
  const names = [...list.querySelectorAll('dt')].map(({ textContent }) => textContent);
  if (names.join('\n') !== terms.map(([name]) => name).join('\n')) {
    const pairs = terms.map(([name]) => element('div', {}, element('dt', {}, name), element('dd')));
    list.replaceChildren(...pairs);
  }
  const texts = list.querySelectorAll('dd');
  terms.forEach(([, text], at) => setText(texts[at]!, text));
}

/** A bar that is filled in part; the number stands beside it in words. */
export function setBar(bar: HTMLElement, share: number): void {
  const percent = Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10;
  bar.style.setProperty('--share', `${percent}%`);
}
