/**
 * `snowflake decode`: takes ids apart.
 *
 * Promise: ids from standard input are answered chunk by chunk, in constant memory. One that cannot
 * be read is reported with its line number, and the others are still answered.
 */
import { systemClock, type BitLayout, type TextForm } from '../../core/index.js';
import { PlausibleLayouts } from '../../core/layout/plausible-layouts.js';
import { isSnowflakeError } from '../../errors.js';
import { printableJson } from '../../shown.js';
import { usageFault, type Call, type Command, quoted } from '../command.js';
import { idLines, idRecord } from '../describe-id.js';
import { FORM_OPTION, formFrom } from '../form-option.js';
import { LAYOUT_OPTIONS, layoutFrom, namesLayout } from '../layout-option.js';
import { plausibleLines, plausibleRecord } from '../plausible-lines.js';
import { lineChunks } from '../read-lines.js';
import type { ExitCode } from '../surroundings.js';

interface Reading {
  readonly layout: BitLayout;
  readonly form: TextForm;
  readonly isJson: boolean;
  /** Where the command line says nothing of the layout. */
  readonly plausible: PlausibleLayouts | undefined;
}

export const decode: Command = {
  name: 'decode',
  summary: 'Takes ids apart: time, worker id, sequence and every field',
  says: [
    'Without ids it reads them from standard input, one per line. Without a layout it also lists ' +
      'the presets that an id may come from, guessed from its time.',
  ],
  words: { name: 'id', min: 0, max: Infinity },
  options: {
    ...LAYOUT_OPTIONS,
    ...FORM_OPTION,
    json: { says: 'one JSON object per line, ids as text' },
  },
  examples: [
    'snowflake decode 382366441078288384',
    'snowflake decode --layout twitter 1427970479175499776',
    'snowflake decode --form base58 --json < ids.txt',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    const isJson = options.flag('json');
    const isNamed = namesLayout(options) || options.text('epoch') !== undefined;
    const reading: Reading = {
      layout: layoutFrom(options),
      form: formFrom(call),
      isJson,
      plausible: isNamed ? undefined : new PlausibleLayouts(systemClock.now()),
    };
    const { words } = options;
    if (words.length === 0 && terminal.stdin.isTTY === true) {
      throw usageFault('Give ids, or send them to standard input, one per line.');
    }
    let lineNumber = 0;
    let code: ExitCode = 0;
    for await (const lines of words.length > 0 ? [words] : lineChunks(terminal.stdin)) {
      const said: string[] = [];
      const faults: string[] = [];
      for (const line of lines) {
        lineNumber++;
        const text = line.trim();
        if (text === '') continue;
        const answer = answerTo(text, reading);
        if (typeof answer !== 'string') said.push(...answer);
        else faults.push(words.length > 0 ? answer : `line ${lineNumber}: ${answer}`);
      }
      await terminal.print(...said);
      if (faults.length > 0) code = 1;
      for (const fault of faults) await terminal.say(`snowflake: ${fault}`);
    }
    return code;
  },
};

/** Lines of output, or the fault in words. */
function answerTo(text: string, reading: Reading): string[] | string {
  const { layout, form, isJson, plausible } = reading;
  try {
    const id = form.decode(text);
    const fits = plausible?.of(id);
    if (isJson) {
      const record = { ...idRecord(layout, id), text, fits: fits?.map(plausibleRecord) };
      return [printableJson(record)];
    }
    const guess = fits === undefined ? [] : plausibleLines(fits);
    return [...idLines(layout, id, text), ...guess, ''];
  } catch (error) {
    // This may be a URL with a password, which quoted() hides.
    if (text.includes('://')) return `Expected an id, got ${quoted(text)}.`;
    if (isSnowflakeError(error)) return error.message;
    throw error;
  }
}
