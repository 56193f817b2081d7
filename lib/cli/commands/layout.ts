/**
 * `snowflake layout`: the limits of a layout, also compared with other bits, and whether its IDs
 * can follow existing IDs.
 *
 * A what-if changes nothing: it prints a second layout next to the first.
 */
import { BitLayout, layouts, systemClock, type FieldSpec } from '../../core/index.js';
import { epochText } from '../../core/layout/layout-fields.js';
import { bitDiagram } from '../describe-id.js';
import { quoted, usageFault, type Call, type Command } from '../command.js';
import {
  afterAdvice,
  afterFacts,
  afterRow,
  readMaxId,
  factRows,
  layoutFacts,
  LAYOUT_OPTIONS,
  layoutFrom,
  readFields,
} from '../layout-option.js';
import { type ExitCode, tableLines } from '../terminal.js';

export const layout: Command = {
  name: 'layout',
  summary: 'Show the lifetime, workers and IDs per second of a layout',
  says: [
    'With --after it checks whether IDs of the layout can follow existing ones. They stay unique ' +
      'if each is above the largest existing ID. Exit code 1: they are not.',
  ],
  options: {
    ...LAYOUT_OPTIONS,
    layout: {
      value: 'preset',
      says: `${Object.keys(layouts).join(', ')}, or a fingerprint; default snowflake`,
    },
    after: { value: 'id', says: 'the largest existing ID, read after the old system has stopped' },
    'what-if': {
      value: 'name:bits,...',
      says: 'compare the layout with other bits',
      multiple: true,
    },
    json: { says: 'one JSON object for the layout and one for each what-if' },
  },
  examples: [
    'snowflake layout --layout sonyflake',
    'snowflake layout --what-if worker:12,sequence:10 --what-if timestamp:42,worker:9',
    'snowflake layout --after 1573624007884939264',
  ],
  async run({ options, terminal }: Call): Promise<ExitCode> {
    const named = layoutFrom(options);
    const all = [named, ...options.texts('what-if').map((text) => withBits(named, text))];
    const maxId = readMaxId(options.text('after'));
    const nowMs = systemClock.now();
    const afters = maxId === undefined ? [] : all.map((each) => afterFacts(each, maxId, nowMs));
    const facts = all.map((each, at) => ({ ...layoutFacts(each), ...afters[at] }));
    const code = afters[0]?.isSafe === false ? 1 : 0;
    if (options.flag('json')) {
      await terminal.printJson(...facts);
      return code;
    }
    const columns = facts.map((each, at) => [...factRows(each), ...afterRow(afters[at])]);
    const rows = columns[0]!.map(([label], at) => [
      label,
      ...columns.map((rowsOf) => rowsOf[at]![1]),
    ]);
    await terminal.print(...all.flatMap((each) => bitDiagram(each)), '', ...tableLines(rows));
    if (afters[0] !== undefined) await terminal.print('', ...afterAdvice(afters[0]));
    const warning = named.warningAt(nowMs);
    if (warning !== undefined) await terminal.say(warning);
    return code;
  },
};

/** The same fields in the same order, with other bits. */
function withBits(named: BitLayout, text: string): BitLayout {
  const wanted = new Map(readFields(text).map(([name, bits]) => [name, bits]));
  for (const name of wanted.keys()) {
    if (named.fields.some((field) => field.name === name)) continue;
    const names = named.fields.map((field) => field.name).join(', ');
    throw usageFault(`There is no field ${quoted(name)} in this layout; it has ${names}.`);
  }
  const fields = named.fields.map(({ name, bits, role }): FieldSpec => {
    const length = wanted.get(name) ?? bits;
    return role === 'call' ? [name, length, role] : [name, length];
  });
  return new BitLayout({
    epoch: epochText(named.epochMs),
    unitMs: named.unitMs,
    fields,
  });
}
