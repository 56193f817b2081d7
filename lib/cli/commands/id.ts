/**
 * `snowflake decode`: takes ids apart.
 *
 * Guarantee: ids from standard input are answered chunk by chunk, in constant memory. One that
 * cannot be read is reported with its line number, and the others are still answered.
 */
import { systemClock, type BitLayout, type TextForm } from '../../core/index.js';
import { isSnowflakeError } from '../../errors.js';
import { regionCountOf } from '../../lease/region-claim.js';
import { printableJson } from '../../messages.js';
import {
  asUsage,
  failed,
  quoted,
  readWhole,
  usageFault,
  type Call,
  type Command,
  type Options,
  readTime,
  utcText,
} from '../command.js';
import { idLines, idRecord, plausibleLines, plausibleRecord } from '../describe-id.js';
import { FORM_OPTION, formFrom } from '../form-option.js';
import { LAYOUT_OPTIONS, layoutFrom, layoutOfFingerprint, namesLayout } from '../layout-option.js';
import { plausibleLayouts } from '../plausible-layouts.js';
import { keptOf, makerOf, type Maker } from '../store/registry-findings.js';
import { SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import { lineChunks, tableLines, wrapped, type ExitCode } from '../terminal.js';

interface Reading {
  readonly layout: BitLayout;
  readonly form: TextForm;
  readonly isJson: boolean;
  /** True if neither the command line nor a registry names a layout. */
  readonly isGuess: boolean;
  /** Set if a registry was asked. */
  readonly registry: Asked | undefined;
}

/** A registry, read once, that says who can have made an id. */
interface Asked {
  /** Its layout; undefined if it has none, or two, or if it is one of regions. */
  readonly layout: BitLayout | undefined;
  readonly where: string;
  maker(made: Parameters<typeof makerOf>[1]): Maker;
}

export const decode: Command = {
  name: 'decode',
  summary: 'Takes ids apart: time, worker id, sequence and every field',
  says: [
    'Without ids it reads them from standard input, one per line. Without a layout it also lists ' +
      'the presets that an id may come from, guessed from its time.',
    'With --who the registry in the store says which process can have made an id, and its layout ' +
      'is taken where none is named. Of an id that was made twice, ask each registry in use.',
  ],
  words: { name: 'id', min: 0, max: Infinity },
  options: {
    ...LAYOUT_OPTIONS,
    ...FORM_OPTION,
    who: { says: 'ask the registry, by --support, which process can have made the id' },
    ...SUPPORT_OPTIONS,
    json: { says: 'one JSON object per line, ids as text' },
  },
  examples: [
    'snowflake decode 382366441078288384',
    'snowflake decode --layout twitter 1427970479175499776',
    'snowflake decode --form base58 --json < ids.txt',
    `snowflake decode --who 382366441078288384 --support 'redis://localhost:6379?namespace=shop'`,
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    const isJson = options.flag('json');
    const isNamed = namesLayout(options) || options.text('epoch') !== undefined;
    const [named, form] = [layoutFrom(options), formFrom(call)];
    const { words } = options;
    if (words.length === 0 && terminal.stdin.isTTY === true) {
      throw usageFault('Give ids, or send them to standard input, one per line.');
    }
    const isAsked = options.flag('who') || options.text('support') !== undefined;
    const registry = isAsked ? await askRegistry(call) : undefined;
    const layout = isNamed ? named : (registry?.layout ?? named);
    const isGuess = !isNamed && registry?.layout === undefined;
    const reading: Reading = { layout, form, isJson, isGuess, registry };
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
      for (const fault of faults) await failed(call, fault);
      if (terminal.isUnread) break;
    }
    return code;
  },
};

function askRegistry(call: Call): Promise<Asked> {
  return withStore(call, async (store) => {
    const view = await store.read();
    const kept = keptOf(view.facts?.fingerprint ?? '');
    // No id has the layout of a registry of regions.
    const layout = regionCountOf(kept) === undefined ? layoutOfFingerprint(kept) : undefined;
    const where = `${store.where}, ${store.key}`;
    return { layout, where, maker: (made) => makerOf(view, made) };
  });
}

const WIDTH = 90;

/** Lines of output, or the fault in words. */
function answerTo(text: string, reading: Reading): string[] | string {
  const { layout, form, isJson, isGuess, registry } = reading;
  try {
    const id = form.decode(text);
    const fits = isGuess ? plausibleLayouts(id, systemClock.now()) : undefined;
    const { fingerprint } = layout;
    const made = registry?.maker({ ...layout.parse(id), fingerprint });
    if (isJson) {
      const guesses = fits?.map(plausibleRecord);
      return [printableJson({ ...idRecord(layout, id), text, fits: guesses, madeBy: made })];
    }
    const guess = fits === undefined ? [] : plausibleLines(fits);
    const said = made === undefined ? [] : wrapped(`${made.text} (${registry!.where})`, WIDTH);
    return [...idLines(layout, id, text), ...guess, ...said.map((line) => `  ${line}`), ''];
  } catch (error) {
    // This may be a URL with a password, which quoted() hides.
    if (text.includes('://')) return `Expected an id, got ${quoted(text)}.`;
    if (isSnowflakeError(error)) return error.message;
    throw error;
  }
}

/*
 * `snowflake encode`: puts an id together from given parts, for tests and comparisons.
 *
 * Every part is checked against its field. It does not make new ids: two calls with the same parts
 * give the same one.
 */

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
    const parts = {
      timestampMs: readTime('--time', options.required('time')).firstMs,
      workerId: options.whole('worker'),
      sequence: options.whole('sequence'),
      fields: fieldsFrom(options, layout),
    };
    const id = asUsage(() => layout.compose(parts));
    const text = form.encode(id);
    if (options.flag('json')) await terminal.printJson({ ...idRecord(layout, id), text });
    else await terminal.print(text);
    return 0;
  },
};

function fieldsFrom(options: Options, layout: BitLayout): Record<string, number> {
  const isWorkerGiven = options.text('worker') !== undefined;
  const fields = [...(isWorkerGiven ? [] : layout.workerFields), ...layout.callFields];
  const names = fields.map(({ name }) => name);
  const pairs = options.texts('field').map((text) => {
    const [, name = '', value = ''] = /^([^=]+)=(.*)$/.exec(text) ?? [];
    if (!names.includes(name)) {
      throw usageFault(
        names.length === 0
          ? `This layout has no field that --field can set, got ${quoted(name || text)}.`
          : `Expected --field to be name=value with one of ${names.join(', ')}, got ` +
              `${quoted(name || text)}.`,
      );
    }
    return [name, readWhole(`--field ${name}`, value)] as const;
  });
  return Object.fromEntries(pairs);
}

/*
 * `snowflake range`: the ids of a span of time, for queries on a table without a time column.
 *
 * Guarantee: both ends are inclusive, and every id with a time in the span is between them.
 */

/** Such a name is safe in a query: quoted or not, with or without its table. */
const COLUMN = /^[\w."`[\]]+$/;

export const range: Command = {
  name: 'range',
  summary: 'The smallest and the largest id of a span of time, and the SQL for it',
  says: [
    'Both ends are inclusive. A date means the whole day in UTC, a time without seconds the ' +
      'whole minute.',
  ],
  options: {
    from: { value: 'time', says: 'ISO text with its zone, a date, or Unix milliseconds' },
    to: { value: 'time', says: 'the same, inclusive' },
    column: { value: 'name', says: 'the column in the SQL; default id' },
    ...LAYOUT_OPTIONS,
    json: { says: 'a JSON object, ids as text' },
  },
  examples: [
    'snowflake range --from 2026-11-01 --to 2026-11-30',
    'snowflake range --from 2026-11-21T08:00Z --to now --column orders.id',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    const layout = layoutFrom(options);
    const fromMs = readTime('--from', options.required('from')).firstMs;
    const toMs = readTime('--to', options.required('to')).lastMs;
    const column = options.text('column') ?? 'id';
    if (!COLUMN.test(column)) {
      throw usageFault(`Expected --column to be the name of a column, got ${quoted(column)}.`);
    }
    if (fromMs > toMs) throw usageFault('--from is later than --to.');
    const { first, last } = layout.idRange(new Date(fromMs), new Date(toMs));
    if (first > last) {
      const lifetime = `${utcText(layout.epochMs)} to ${layout.lastDate.toISOString()}`;
      return failed(call, `there are no ids in that span; this layout has ids from ${lifetime}.`);
    }
    const [from, to] = [utcText(fromMs), utcText(toMs)];
    const where = `${column} BETWEEN ${first} AND ${last}`;
    if (options.flag('json')) {
      await terminal.printJson({ from, to, first: String(first), last: String(last), where });
      return 0;
    }
    await terminal.print(
      ...tableLines([
        ['from', from, String(first)],
        ['to', to, String(last)],
      ]),
      '',
      `WHERE ${where}`,
    );
    return 0;
  },
};
