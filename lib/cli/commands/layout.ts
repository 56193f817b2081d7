/**
 * `snowflake layout`: the limits of a layout, also compared with other bits, and whether its IDs
 * can follow existing IDs.
 *
 * A what-if changes nothing: it prints a second layout next to the first.
 */
import { BitLayout, layouts, moveAfter, systemClock, type FieldSpec } from '../../core/index.js';
import { epochText } from '../../core/layout/layout-fields.js';
import { bitDiagram } from '../describe-id.js';
import { quoted, spanText, usageFault, type Call, type Command } from '../command.js';
import { LAYOUT_OPTIONS, layoutFrom, readFields } from '../layout-option.js';
import { tableLines, wrapped, type ExitCode } from '../terminal.js';

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
    const maxId = options.text('after');
    if (maxId !== undefined && !MAX_ID.test(maxId)) {
      const got = quoted(maxId);
      throw usageFault(`Expected --after to be the largest id that exists, got ${got}.`);
    }
    const nowMs = systemClock.now();
    const facts = all.map((each) => factsOf(each, maxId, nowMs));
    const code = facts[0]!.isSafe === false ? 1 : 0;
    if (options.flag('json')) {
      await terminal.printJson(...facts);
      return code;
    }
    const columns = facts.map(factRows);
    const rows = columns[0]!.map(([label], at) => [
      label,
      ...columns.map((rowsOf) => rowsOf[at]![1]),
    ]);
    await terminal.print(...all.flatMap((each) => bitDiagram(each)), '', ...tableLines(rows));
    const advice = afterAdvice(facts[0]!).flatMap((sentence) => wrapped(sentence));
    if (advice.length > 0) await terminal.print('', ...advice);
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

/** No integer column has more digits than this. */
const MAX_ID = /^(0|[1-9]\d{0,29})$/;
/** A JavaScript number with more bits is not exact. */
const NUMBER_BITS = 53;

/** @param maxId the largest existing ID, which IDs of the layout have to follow */
function factsOf(named: BitLayout, maxId: string | undefined, nowMs: number) {
  const { fingerprint, totalBits: bits, unitMs, lifetimeMs } = named;
  const move = maxId === undefined ? undefined : moveAfter(named, BigInt(maxId), nowMs);
  return {
    fingerprint,
    bits,
    unitMs,
    epoch: new Date(named.epochMs).toISOString(),
    lastDate: named.lastDate.toISOString(),
    lifetimeMs,
    workers: named.workerIdMax + 1,
    idsPerSecondAndWorker: named.idsPerSecond,
    fitsNumber: bits <= NUMBER_BITS,
    ...(move && {
      after: maxId,
      isSafe: move.isSafe,
      /** null means never. */
      safeFrom: move.safeFrom?.toISOString() ?? null,
      epochMax: move.epochMax?.toISOString() ?? null,
    }),
  };
}

type Facts = ReturnType<typeof factsOf>;

function factRows(facts: Facts): (readonly [label: string, text: string])[] {
  const count = (number: number) => number.toLocaleString('en-US');
  const { workers, idsPerSecondAndWorker: rate, isSafe, safeFrom } = facts;
  const when = safeFrom === null ? 'never' : `${isSafe ? 'since' : 'from'} ${safeFrom}`;
  return [
    ['fingerprint', facts.fingerprint],
    ['bits', `${facts.bits}${facts.fitsNumber ? ' (fits a JavaScript number)' : ''}`],
    ['one tick', `${count(facts.unitMs)} ms`],
    ['epoch', facts.epoch],
    ['last date', facts.lastDate],
    ['lifetime', spanText(facts.lifetimeMs)],
    ['workers', count(workers)],
    ['ids per s and worker', count(rate)],
    ['ids per s in total', count(rate * workers)],
    ...(isSafe === undefined ? [] : [['above the old ids', when] as const]),
  ];
}

/** The consequences of --after; empty without the option. */
function afterAdvice({ after, isSafe, safeFrom, epochMax }: Facts): string[] {
  if (isSafe === undefined) return [];
  if (isSafe) {
    return [
      `Safe: every id made from now on is above ${after}, whatever system made that one.`,
      'Read it again after the last process of the old system has stopped: only then is it the ' +
        'largest.',
    ];
  }
  const verdict =
    safeFrom === null
      ? `Not safe: ids of this layout are never all above ${after}, so one can equal an old one.`
      : `Not safe before ${safeFrom}: until then an id of this layout can equal an old one.`;
  if (epochMax === null) {
    return [verdict, 'No epoch since 1970 makes it safe either: take a layout with more bits.'];
  }
  return [
    verdict,
    `With an epoch of ${epochMax} or earlier they are safe now. An earlier epoch also means an ` +
      `earlier last date: see it with --epoch.`,
  ];
}
