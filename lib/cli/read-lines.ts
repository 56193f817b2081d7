/**
 * Reads standard input line by line.
 *
 * Promise: memory holds one chunk and the start of one line, however long the input is.
 */

/** Longer than any text of an id, so the start of a line is enough to refuse it. */
const LINE_LENGTH_MAX = 1000;

/** The lines of each chunk as it arrives, so that they are answered at once. */
export async function* lineChunks(
  input: AsyncIterable<string | Uint8Array>,
): AsyncGenerator<readonly string[]> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    const text = typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = (rest + text).split('\n').map(cut);
    rest = lines.pop()!;
    if (lines.length > 0) yield lines;
  }
  // Half a character at the end becomes a wrong character, so no id ends there.
  rest += decoder.decode();
  if (rest !== '') yield [rest];
}

/** The ellipsis, which no id contains, keeps a cut line from being read as an id. */
function cut(line: string): string {
  return line.length <= LINE_LENGTH_MAX ? line : `${line.slice(0, LINE_LENGTH_MAX)}…`;
}
