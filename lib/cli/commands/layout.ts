/**
 * `snowflake layout`: the limits of a layout, and for comparison those with other bits.
 *
 * A what-if changes nothing: it is a second layout next to the first.
 */
import { BitLayout, systemClock, type FieldSpec } from '../../core/index.js';
import { bitDiagram } from '../bit-diagram.js';
import { quoted, usageFault, type Call, type Command } from '../command.js';
import { factRows, layoutFacts } from '../layout-facts.js';
import { LAYOUT_OPTIONS, layoutFrom, readFields } from '../layout-option.js';
import type { ExitCode } from '../surroundings.js';
import { tableLines } from '../table.js';

export const layout: Command = {
  name: 'layout',
  summary: 'Lifetime, workers and ids per second of a layout, and those with other bits',
  options: {
    ...LAYOUT_OPTIONS,
    'what-if': {
      value: 'name:bits,...',
      says: 'the same layout with other bits, in one more column',
      multiple: true,
    },
    json: { says: 'one JSON object for the layout and one for each what-if' },
  },
  examples: [
    'snowflake layout --layout sonyflake',
    'snowflake layout --what-if worker:12,sequence:10 --what-if timestamp:42,worker:9',
  ],
  async run({ options, terminal }: Call): Promise<ExitCode> {
    const named = layoutFrom(options);
    const all = [named, ...options.texts('what-if').map((text) => changed(named, text))];
    const facts = all.map(layoutFacts);
    if (options.flag('json')) {
      await terminal.printJson(...facts);
      return 0;
    }
    const columns = facts.map(factRows);
    const rows = columns[0]!.map(([label], at) => [
      label,
      ...columns.map((rowsOf) => rowsOf[at]![1]),
    ]);
    await terminal.print(...all.flatMap((each) => bitDiagram(each)), '', ...tableLines(rows));
    const warning = named.warningAt(systemClock.now());
    if (warning !== undefined) await terminal.say(warning);
    return 0;
  },
};

/** The same fields in the same order, with the given bits. */
function changed(named: BitLayout, text: string): BitLayout {
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
  return new BitLayout({ epoch: named.epochMs, unitMs: named.unitMs, fields });
}
