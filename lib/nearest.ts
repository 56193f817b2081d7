/**
 * Suggests the name that was probably meant, of a command or of an option, but only if it is close:
 * a wrong suggestion is worse than none.
 */

/** The closest of the names, or undefined when none is close. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const meant = word.toLowerCase();
  const ranked = names
    .map((name) => ({ name, distance: distanceOf(meant, name.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const [best] = ranked;
  // One mistake for a short word, one more for every three letters.
  const allowed = 1 + Math.floor(meant.length / 3);
  return best !== undefined && best.distance <= allowed ? best.name : undefined;
}

/** "Did you mean decode?", or all names. */
export function suggestion(word: string, names: readonly string[]): string {
  const name = nearest(word, names);
  return name === undefined ? `Choose one of ${names.join(', ')}.` : `Did you mean ${name}?`;
}

/** What is wrong with a name that there is not, as a sentence after it. */
export function knownNames(name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  const guess = meant === undefined ? '' : `Did you mean \`${meant}\`? `;
  return `${guess}The options are ${names.join(', ')}.`;
}

/** How many letters have to be inserted, removed, changed or swapped. */
function distanceOf(from: string, to: string): number {
  let before: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    for (let at = 1; at <= to.length; at++) {
      const isSame = from[row - 1] === to[at - 1];
      const isSwapped =
        row > 1 && at > 1 && from[row - 1] === to[at - 2] && from[row - 2] === to[at - 1];
      const changed = last[at - 1]! + (isSame ? 0 : 1);
      const swapped = isSwapped ? before[at - 2]! + 1 : Infinity;
      line[at] = Math.min(changed, swapped, last[at]! + 1, line[at - 1]! + 1);
    }
    before = last;
    last = line;
  }
  return last[to.length]!;
}
