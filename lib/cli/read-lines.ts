/**
 * Standard input, line by line.
 *
 * Promise: memory holds one chunk and no more than the beginning of one line, however much comes.
 */

/** Longer than any spelling of an id; what is longer is refused by its beginning. */
const LINE_LENGTH_MAX = 1000;

/** The lines of each chunk as it comes, so that what is there is answered at once. */
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
  // Half a character at the end is one that is wrong, and no end of an id.
  rest += decoder.decode();
  if (rest !== '') yield [rest];
}

/** What is left out leaves a sign that no id has, or spaces might hide it. */
function cut(line: string): string {
  return line.length <= LINE_LENGTH_MAX ? line : `${line.slice(0, LINE_LENGTH_MAX)}…`;
}
