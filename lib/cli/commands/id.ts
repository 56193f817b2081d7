/**
 * `snowflake decode`: splits IDs into their parts.
 *
 * Guarantee: IDs from standard input are decoded chunk by chunk, in constant memory. An invalid ID
 * is reported with its line number, and the others are still decoded.
 */
import { systemClock, textForms, type BitLayout } from '../../core/index.js';
import { isSnowflakeError } from '../../errors.js';
import { regionCountOf } from '../../lease/region-claim.js';
import { printableJson } from '../../messages.js';
import { whole } from '../../options.js';
import {
  answerLines,
  asUsage,
  failed,
  quoted,
  readWhole,
  show,
  usageFault,
  type Call,
  type Command,
  type Options,
  readTime,
  utcText,
} from '../command.js';
import { idLines, idRecord, plausibleLines } from '../describe-id.js';
import { FORM_OPTION, formFrom } from '../form-option.js';
import { LAYOUT_OPTIONS, layoutFrom, layoutOfFingerprint, namesLayout } from '../layout-option.js';
import { plausibleLayouts } from '../plausible-layouts.js';
import { keptOf, makerOf, type Made } from '../store/registry-findings.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import { tableLines, wrapped, type ExitCode } from '../terminal.js';

export const decode: Command = {
  name: 'decode',
  summary: 'Read the time, worker ID, sequence and every field of IDs',
  says: [
    'Without IDs it reads them from standard input, one per line. Without a layout it also lists ' +
      'the presets that an ID may come from, judged by its time.',
    'With --who it finds the process that can have generated the ID in the registry of ' +
      '--support, and uses the layout of that registry unless you name one. If an ID was issued ' +
      'twice, run this against every registry.',
  ],
  words: { name: 'id', min: 0, max: Infinity },
  options: {
    ...LAYOUT_OPTIONS,
    ...FORM_OPTION,
    who: { says: 'find the process that can have generated the ID; needs --support' },
    ...SUPPORT_OPTIONS,
    json: { says: 'one JSON object per line, IDs as strings' },
  },
  examples: [
    'snowflake decode 382366441078288384',
    'snowflake decode --layout twitter 1427970479175499776',
    'snowflake decode --form base58 --json < ids.txt',
    `snowflake decode --who 382366441078288384 --support 'redis://localhost:6379?namespace=shop'`,
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    const isNamed = namesLayout(options) || options.text('epoch') !== undefined;
    const [named, form] = [layoutFrom(options), formFrom(call)];
    if (options.words.length === 0 && terminal.stdin.isTTY === true) {
      throw usageFault('Give IDs, or send them to standard input, one per line.');
    }
    const isAsked = options.flag('who') || options.text('support') !== undefined;
    const registry = isAsked ? await askRegistry(call) : undefined;
    const layout = isNamed ? named : (registry?.layout ?? named);
    const isGuess = !isNamed && registry?.layout === undefined;
    const partsOf = (text: string): string[] => {
      const id = form.decode(text);
      const fits = isGuess ? plausibleLayouts(id, systemClock.now()) : undefined;
      const made = registry?.maker({ ...layout.parse(id), fingerprint: layout.fingerprint });
      if (options.flag('json')) {
        const guesses = fits?.map(({ presets, timestampMs, ...rest }) => {
          return { presets, time: utcText(timestampMs), ...rest };
        });
        return [printableJson({ ...idRecord(layout, id), text, fits: guesses, madeBy: made })];
      }
      const guess = fits === undefined ? [] : plausibleLines(fits);
      const said = made === undefined ? [] : wrapped(`${made.text} (${registry!.where})`);
      return [...idLines(layout, id, text), ...guess, ...said.map((line) => `  ${line}`), ''];
    };
    return answerLines(call, 'IDs', (text) => {
      try {
        return partsOf(text);
      } catch (error) {
        // The argument may be a URL with a password, which quoted() hides.
        if (text.includes('://')) return `Expected an id, got ${quoted(text)}.`;
        if (!isSnowflakeError(error)) throw error;
        const isDecimal = form === textForms.decimal;
        return isDecimal ? `${error.message} For another form, use --form.` : error.message;
      }
    });
  },
};

/**
 * Reads a registry, which can name the process that generated an ID. Its layout is undefined if it
 * has no single layout, or if it is a registry of regions.
 */
function askRegistry(call: Call) {
  return withStore(call, async (store) => {
    const view = await store.read();
    const kept = keptOf(view.facts?.fingerprint ?? '');
    // No ID has the layout of a registry of regions.
    const layout = regionCountOf(kept) === undefined ? layoutOfFingerprint(kept) : undefined;
    const where = `${store.where}, ${store.key}`;
    return { layout, where, maker: (made: Made) => makerOf(view, made) };
  });
}

/*
 * `snowflake encode`: composes an ID from given parts, for tests and comparisons.
 *
 * It checks every part against its field. It does not generate new IDs: the same parts always give
 * the same ID.
 */

export const encode: Command = {
  name: 'encode',
  summary: 'Build an ID from its time, worker ID and sequence',
  says: ['For tests and comparisons. Only a generator keeps IDs unique.'],
  options: {
    time: { value: 'time', says: 'ISO 8601 with zone, a date, Unix ms, or now', isRequired: true },
    worker: { value: 'number', says: 'worker ID, all worker fields as one number; default 0' },
    sequence: { value: 'number', says: 'default 0' },
    field: { value: 'name=value', says: 'a call field, or a single worker field', multiple: true },
    ...LAYOUT_OPTIONS,
    ...FORM_OPTION,
    json: { says: 'a JSON object, the ID as a string' },
  },
  examples: [
    'snowflake encode --time 2026-11-21T09:00:00Z --worker 7',
    'snowflake encode --layout discord --time now --field worker=1 --field process=2',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options } = call;
    const layout = layoutFrom(options);
    const form = formFrom(call);
    const parts = {
      timestampMs: readTime('--time', options.text('time')!).firstMs,
      workerId: options.whole('worker', whole(0, layout.workerIdMax)),
      sequence: options.whole('sequence', whole(0, layout.sequence.max)),
      fields: fieldsFrom(options, layout),
    };
    if (parts.timestampMs < layout.epochMs || parts.timestampMs > layout.lastDate.getTime()) {
      throw usageFault(`${lifetimeText(layout)}, got --time ${utcText(parts.timestampMs)}.`);
    }
    const id = asUsage(() => layout.compose(parts));
    const text = form.encode(id);
    return show(call, { ...idRecord(layout, id), text }, text);
  },
};

function fieldsFrom(options: Options, layout: BitLayout): Record<string, number> {
  const isWorkerGiven = options.text('worker') !== undefined;
  const fields = [...(isWorkerGiven ? [] : layout.workerFields), ...layout.callFields];
  const names = fields.map(({ name }) => name);
  const pairs = options.texts('field').map((text) => {
    const [, name = text, value = ''] = /^([^=]+)=(.*)$/.exec(text) ?? [];
    if (!names.includes(name)) {
      const known = names.length === 0 ? 'nothing' : names.join(', ');
      throw usageFault(`--field cannot set ${quoted(name)} in this layout, only ${known}.`);
    }
    return [name, readWhole(`--field ${name}`, value)] as const;
  });
  return Object.fromEntries(pairs);
}

/*
 * `snowflake range`: the IDs of a time span, for queries on a table without a time column.
 *
 * Guarantee: both ends are inclusive, and every ID with a time in the span is between them.
 */

const lifetimeText = ({ epochMs, lastDate }: BitLayout): string =>
  `This layout has IDs from ${utcText(epochMs)} to ${lastDate.toISOString()}`;

/** Such a name is safe in a query, with or without quotes or a table name. */
const COLUMN = /^[\w."`[\]]+$/;

export const range: Command = {
  name: 'range',
  summary: 'Find the smallest and the largest ID of a time span, with the SQL for it',
  says: [
    'Both ends are inclusive. A date means the whole day in UTC, a time without seconds the ' +
      'whole minute.',
  ],
  options: {
    from: { value: 'time', says: 'ISO 8601 with zone, a date, Unix ms, or now', isRequired: true },
    to: { value: 'time', says: 'the same, inclusive', isRequired: true },
    column: { value: 'name', says: 'the column in the SQL; default id' },
    ...LAYOUT_OPTIONS,
    json: { says: 'a JSON object, IDs as strings' },
  },
  examples: [
    'snowflake range --from 2026-11-01 --to 2026-11-30',
    'snowflake range --from 2026-11-21T08:00Z --to now --column orders.id',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options } = call;
    const layout = layoutFrom(options);
    const fromMs = readTime('--from', options.text('from')!).firstMs;
    const toMs = readTime('--to', options.text('to')!).lastMs;
    const column = options.text('column') ?? 'id';
    if (!COLUMN.test(column)) {
      throw usageFault(`Expected --column to be the name of a column, got ${quoted(column)}.`);
    }
    if (fromMs > toMs) throw usageFault('--from is later than --to.');
    const { first, last } = layout.idRange(new Date(fromMs), new Date(toMs));
    if (first > last) {
      return failed(call, `${lifetimeText(layout)}, and none in that span.`);
    }
    const [from, to] = [utcText(fromMs), utcText(toMs)];
    const where = `${column} BETWEEN ${first} AND ${last}`;
    const rows = [
      ['from', from, String(first)],
      ['to', to, String(last)],
    ];
    const record = { from, to, first: String(first), last: String(last), where };
    return show(call, record, ...tableLines(rows), '', `WHERE ${where}`);
  },
};
