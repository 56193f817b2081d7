/**
 * Text of somebody else, for a terminal, a page or a log.
 *
 * Promise: it steers nothing: no control character, no change of direction, no line of its own,
 * nothing invisible; and it is no longer than a name may be.
 */

/** The longest name of a host has 253. */
const LENGTH_MAX = 255;
/** What is not drawn: C0, C1, bidi controls, zero-width, half a character, line separators. */
const NOT_DRAWN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Each character that is not drawn becomes a question mark. */
export function printable(text: string): string {
  return text.replace(NOT_DRAWN, '?');
}

/** JSON that says the same: such characters become escapes. */
export function printableJson(value: unknown): string {
  return JSON.stringify(value).replace(NOT_DRAWN, escaped);
}

/** The beginning of a name that is too long. */
export function cutName(text: string, lengthMax = LENGTH_MAX): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}

/** A name of somebody else, as it may stand beside our own words. */
export const shownName = (text: unknown): string => printable(cutName(String(text)));

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
