/**
 * JSON.parse for text that contains IDs: an integer beyond the exact range of a number becomes a
 * string. Such integers are put in quotation marks, and JSON.parse does the rest, so everything
 * else behaves the same. A reviver would cost several times as much and needs the source text of a
 * number, which Node provides only since version 21.
 */

/** Every integer beyond 2^53 has at least this many digits. */
const LONG = /\d{16}/;
/** Matches the start of a string, or a run of characters that may be a number. */
const TOKEN = /"|-?\d[\d.eE+-]*/g;
const LONG_INTEGER = /^-?[1-9]\d{15,}$/;
/** A number before a colon is not JSON, but a string there would be. */
const COLON = /[ \t\r\n]*:/y;
const BACKSLASH = 92;

/**
 * `JSON.parse` that returns integers beyond 2^53 as strings with exactly their digits, at any
 * depth. Everything else is parsed as by `JSON.parse`: smaller integers, fractions, and exponents
 * become numbers, and strings stay strings.
 *
 * Use it for JSON that a database builds from bigint columns (`json_agg`, relational queries of
 * Drizzle and Kysely) and for JSON columns that contain IDs.
 *
 * @param text JSON
 * @throws SyntaxError like JSON.parse
 * @example
 * ```ts
 * import { parseJson } from 'nestjs-snowflake';
 *
 * parseJson('{"id":382366441078288385,"lines":2}'); // { id: '382366441078288385', lines: 2 }
 * JSON.parse('{"id":382366441078288385,"lines":2}'); // { id: 382366441078288400, lines: 2 }
 * ```
 */
export function parseJson(text: string): unknown {
  const quoted = LONG.test(text) ? withQuotedIntegers(String(text)) : text;
  try {
    return JSON.parse(quoted) as unknown;
  } catch (error) {
    // The error of this call gives positions in the original text.
    JSON.parse(text);
    throw error;
  }
}

function withQuotedIntegers(text: string): string {
  const parts: string[] = [];
  let copied = 0;
  TOKEN.lastIndex = 0;
  for (let found = TOKEN.exec(text); found !== null; found = TOKEN.exec(text)) {
    const [token] = found;
    if (token === '"') {
      TOKEN.lastIndex = endOfString(text, found.index);
    } else if (isBeyondNumbers(token) && !isBeforeColon(text, TOKEN.lastIndex)) {
      parts.push(text.slice(copied, found.index), '"', token, '"');
      copied = TOKEN.lastIndex;
    }
  }
  parts.push(text.slice(copied));
  return parts.join('');
}

/** Returns the position after the closing quotation mark; without one, the end of the text. */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return at + 1;
  }
  return text.length;
}

function isBeyondNumbers(token: string): boolean {
  return LONG_INTEGER.test(token) && !Number.isSafeInteger(Number(token));
}

function isBeforeColon(text: string, at: number): boolean {
  COLON.lastIndex = at;
  return COLON.test(text);
}
