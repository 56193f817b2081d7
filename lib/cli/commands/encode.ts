/**
 * `snowflake encode`: puts an id together from given parts, for tests and comparisons.
 *
 * Every part is checked against its field. It does not make new ids: two calls with the same parts
 * give the same one.
 */
import { isSnowflakeError } from '../../errors.js';
import { quoted, usageFault, type Call, type Command, type Options } from '../command.js';
import { idRecord } from '../describe-id.js';
import { FORM_OPTION, formFrom } from '../form-option.js';
import { LAYOUT_OPTIONS, layoutFrom } from '../layout-option.js';
import { readWhole } from '../options.js';
import type { ExitCode } from '../surroundings.js';
import { readTime } from '../time-text.js';
import type { BitLayout } from '../../core/index.js';

export const encode: Command = {
  name: 'encode',
  summary: 'Puts an id together from its time, worker id and sequence',
  says: ['For tests and comparisons. New ids come from a generator, which keeps them unique.'],
  options: {
    time: { value: 'time', says: 'ISO text with its zone, a date, Unix milliseconds, or now' },
    worker: { value: 'number', says: 'worker id, all worker fields as one number; default 0' },
    sequence: { value: 'number', says: 'default 0' },
    field: { value: 'name=value', says: 'a call field, or a single worker field', multiple: true },
    ...LAYOUT_OPTIONS,
    ...FORM_OPTION,
    json: { says: 'a JSON object, the id as text' },
  },
  examples: [
    'snowflake encode --time 2026-11-21T09:00:00Z --worker 7',
    'snowflake encode --layout discord --time now --field worker=1 --field process=2',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    const layout = layoutFrom(options);
    const form = formFrom(call);
    const id = composed(layout, {
      timestampMs: readTime('--time', options.required('time')).firstMs,
      workerId: options.whole('worker'),
      sequence: options.whole('sequence'),
      fields: fieldsFrom(options, layout),
    });
    const text = form.encode(id);
    if (options.flag('json')) await terminal.printJson({ ...idRecord(layout, id), text });
    else await terminal.print(text);
    return 0;
  },
};

/** A part that does not fit its field is a mistake in the command line. */
function composed(layout: BitLayout, parts: Parameters<BitLayout['compose']>[0]): bigint {
  try {
    return layout.compose(parts);
  } catch (error) {
    if (isSnowflakeError(error)) throw usageFault(error.message);
    throw error;
  }
}

function fieldsFrom(options: Options, layout: BitLayout): Record<string, number> {
  const isWorkerGiven = options.text('worker') !== undefined;
  const fields = [...(isWorkerGiven ? [] : layout.workerFields), ...layout.callFields];
  const names = fields.map(({ name }) => name);
  const pairs = options.texts('field').map((text) => {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/.exec(text) ?? [];
    if (!names.includes(name)) {
      throw usageFault(
        names.length === 0
          ? `This layout has no field that --field can set, got ${quoted(text)}.`
          : `Expected --field to be name=value with one of ${names.join(', ')}, got ` +
              `${quoted(text)}.`,
      );
    }
    return [name, readWhole(`--field ${name}`, value)] as const;
  });
  return Object.fromEntries(pairs);
}
