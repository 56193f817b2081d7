// Group: taking an id apart, and reading its text.
//
// Guarantee: a ratio compares only calls that read the same and give the same kind of thing, but
// for a row that says of what it is a part.
import { inTurnsApart } from '../../harness/turns.mjs';
import { figure, median, span, times, bold } from '../../harness/figures.mjs';
import { newGenerator, standardLayout } from '../../harness/generators.mjs';
import { importCore } from '../../harness/library.mjs';
import { EPOCH_MS, OURS, isOurs } from '../makers.mjs';
import { nsPerCall } from '../timing.mjs';

const core = await importCore();
const publicForm = core.publicIds({ prefix: 'ord', key: '9f4c1e07b2a8d36515e0c7734ba9f218' });

const COLUMNS = ['how', 'from', 'gives', 'ns per id', 'min–max', '× ours'];

/** Nothing waits for a clock here. */
const OPTIONS = { isFresh: false, samples: 500 };
const IDS = 1024;

const PARTS = 'parts';
const TIME = 'ms';
const BIGINT = 'bigint';
const TEXT = 'decimal text';
const BASE58 = 'base 58 text';
const PUBLIC = 'public id';

const PARSE = `${OURS} parse()`;

const readers = [
  {
    name: PARSE,
    from: BIGINT,
    gives: PARTS,
    open: async () => {
      const layout = standardLayout();
      return (id) => layout.parse(id);
    },
  },
  {
    name: `${OURS} timestampMsOf()`,
    from: BIGINT,
    gives: TIME,
    open: async () => {
      const layout = standardLayout();
      return (id) => layout.timestampMsOf(id);
    },
  },
  {
    name: '@sapphire/snowflake timestampFrom()',
    from: BIGINT,
    gives: TIME,
    open: async () => {
      const snowflake = await newSapphire();
      return (id) => snowflake.timestampFrom(id);
    },
  },
  {
    name: 'nodejs-snowflake timestampFromID()',
    from: BIGINT,
    gives: TIME,
    open: async () => {
      const { Snowflake } = (await import('nodejs-snowflake')).default;
      return (id) => Snowflake.timestampFromID(id, EPOCH_MS);
    },
  },
  {
    name: `${OURS} parse() of text`,
    from: TEXT,
    gives: PARTS,
    open: async () => {
      const layout = standardLayout();
      return (id) => layout.parse(id);
    },
  },
  {
    name: `${OURS} textForms.decimal.decode()`,
    from: TEXT,
    gives: BIGINT,
    open: async () => (text) => core.textForms.decimal.decode(text),
  },
  {
    name: `${OURS} textForms.base58.decode()`,
    from: BASE58,
    gives: BIGINT,
    open: async () => (text) => core.textForms.base58.decode(text),
  },
  {
    name: `${OURS} publicIds() decode()`,
    from: PUBLIC,
    gives: BIGINT,
    open: async () => (text) => publicForm.decode(text),
  },
  {
    name: `${OURS} publicIds() encode()`,
    from: BIGINT,
    gives: PUBLIC,
    open: async () => (id) => publicForm.encode(id),
  },
  {
    name: 'BigInt(text), which checks nothing of an id',
    from: TEXT,
    gives: BIGINT,
    open: async () => (text) => BigInt(text),
  },
  {
    name: '@sapphire/snowflake deconstruct()',
    from: BIGINT,
    gives: PARTS,
    open: openSapphire,
  },
  {
    name: '@sapphire/snowflake deconstruct() of text',
    from: TEXT,
    gives: PARTS,
    open: openSapphire,
  },
  {
    name: 'snowyflake deconstruct()',
    from: BIGINT,
    gives: PARTS,
    open: async () => {
      const { Snowyflake } = await import('snowyflake');
      const snowflake = new Snowyflake({ epoch: BigInt(EPOCH_MS) });
      return (id) => snowflake.deconstruct(id);
    },
  },
  {
    name: 'snowflakify destructure()',
    from: BIGINT,
    gives: PARTS,
    open: openSnowflakify,
  },
  {
    name: 'snowflakify destructure() of text',
    from: TEXT,
    gives: PARTS,
    open: openSnowflakify,
  },
  {
    name: 'nodejs-snowflake, its two calls; no sequence',
    from: BIGINT,
    gives: PARTS,
    open: async () => {
      const { Snowflake } = (await import('nodejs-snowflake')).default;
      return (id) => ({
        timestamp: Snowflake.timestampFromID(id, EPOCH_MS),
        instanceId: Snowflake.instanceIDFromID(id),
      });
    },
  },
  {
    name: '@theinternetfolks/snowflake parse() of text',
    from: TEXT,
    gives: PARTS,
    open: async () => {
      const { Snowflake } = (await import('@theinternetfolks/snowflake')).default;
      return (id) => Snowflake.parse(id);
    },
  },
  {
    name: 'new Date(ms) alone, a part of parse()',
    from: TIME,
    gives: 'Date',
    against: PARSE,
    open: async () => (ms) => new Date(ms),
  },
];

async function newSapphire() {
  const { Snowflake } = await import('@sapphire/snowflake');
  return new Snowflake(new Date(EPOCH_MS));
}

async function openSapphire() {
  const snowflake = await newSapphire();
  return (id) => snowflake.deconstruct(id);
}

async function openSnowflakify() {
  const { default: Snowflakify } = await import('snowflakify');
  const snowflake = new Snowflakify({ epoch: EPOCH_MS });
  return (id) => snowflake.destructure(id);
}

/** @type {Record<string, (id: bigint, at: number) => unknown>} what is read, of an id */
const FORMS = {
  [BIGINT]: (id) => id,
  [TEXT]: String,
  [BASE58]: (id) => core.textForms.base58.encode(id),
  [PUBLIC]: (id) => publicForm.encode(id),
  // Each a value of its own, as the ids of one millisecond would give the same one.
  [TIME]: (id, at) => standardLayout().timestampMsOf(id) + at,
};

/** The same bits mean the same to all of them but nodejs-snowflake, which has other widths. */
const inputs = (/** @type {string} */ from) => newGenerator().nextIds(IDS).map(FORMS[from]);

export async function measure(/** @type {string} */ name) {
  const { from, open } = readers.find((reader) => reader.name === name);
  const read = await open();
  const given = inputs(from);
  return { ns: nsPerCall((at) => read(given[at]), { ...OPTIONS, count: IDS }) };
}

async function run(/** @type {import('../../harness/turns.mjs').RunOptions} */ options) {
  const cases = readers.map(({ name }) => name);
  const byCase = await inTurnsApart({ file: import.meta.url, cases }, options);
  const nsOf = ({ name }) => median(byCase.get(name).map(({ ns }) => ns));
  const kindOf = ({ from, gives }) => `${gives} ${from}`;
  const kinds = [...new Set(readers.map(kindOf))];
  const placeOf = (reader) => kinds.indexOf(kindOf(reader));
  const oursOf = (reader) =>
    readers.find(({ name, ...rest }) =>
      reader.against ? name === reader.against : isOurs(name) && kindOf(rest) === kindOf(reader),
    );
  return readers
    .toSorted((a, b) => placeOf(a) - placeOf(b) || nsOf(a) - nsOf(b))
    .map((reader) => [
      isOurs(reader.name) ? bold(reader.name) : reader.name,
      reader.from,
      reader.gives,
      figure(nsOf(reader)),
      span(byCase.get(reader.name).map(({ ns }) => ns)),
      times(nsOf(reader), nsOf(oursOf(reader))),
    ]);
}

export const parse = {
  title: 'Taking an id apart',
  explanation:
    'Ids of 1024 different values, each result kept. ' +
    'Parts are not the same everywhere: parse() of ours gives the milliseconds, a Date, the ' +
    'worker id, the sequence and every field by its name; most others give bigints, and none a ' +
    'Date. What the Date alone costs is the last row, against parse(), of which it is a part. ' +
    'The rows that give ms are the calls that read the time alone. ' +
    'Ours refuse what is not an id of the layout, which costs a few ns at most; the peers also ' +
    'take numbers that are no ids. ' +
    'Times ours compares rows that read and give the same.',
  columns: COLUMNS,
  run,
};
