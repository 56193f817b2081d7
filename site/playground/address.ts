/**
 * What a section shows, in the address of the page: `#read-an-id?id=382…&layout=twitter`. A link to
 * it shows the same again, and since it stands behind the `#`, no server is told.
 *
 * Guarantee: a value that is as it was at first is left out, and what is not of the section too.
 */
export type Shown = Readonly<Record<string, string>>;

/** @param first the values that the section has without an address */
export function addressOf(section: string, shown: Shown, first: Shown): string {
  const changed = Object.entries(shown).filter(([name, value]) => value !== first[name]);
  const query = String(new URLSearchParams(changed));
  return query === '' ? `#${section}` : `#${section}?${query}`;
}

/**
 * @param choices the values to choose from, by name; what is none of them is left out
 * @returns undefined where the address is of another section
 */
export function shownBy(
  address: string,
  section: string,
  first: Shown,
  choices: Readonly<Record<string, readonly string[]>> = {},
): Shown | undefined {
  const [name, query] = address.replace(/^#/, '').split(/\?(.*)/s);
  if (name !== section || query === undefined) return undefined;
  const given = [...new URLSearchParams(query)].filter(
    ([key, value]) => Object.hasOwn(first, key) && (choices[key]?.includes(value) ?? true),
  );
  return { ...first, ...Object.fromEntries(given) };
}
