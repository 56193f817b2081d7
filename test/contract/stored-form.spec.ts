/**
 * Later versions of the package continue stored data. For each form in which data were ever stored,
 * `stored-<number>.json` has the data of each store and the numbers handed out. These files never
 * change. If the current form is new, `NEXT_STORED_FORM=1 npm test -- test/contract/stored-form`
 * writes the next file.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { ROOT } from '../tidy/tree.js';
import {
  faultsOf,
  inEtcd,
  inFolder,
  inMariadb,
  inPostgres,
  inRedis,
  written,
  type HandedOut,
  type Place,
  type Stored,
} from './stored-form.js';

interface Golden {
  readonly handedOut: HandedOut;
  readonly stored: Stored;
}
type Form = Readonly<Record<string, Golden>>;

const FOLDER = `${ROOT}/test/contract`;
const NUMBERS = readdirSync(FOLDER)
  .flatMap((name) => /^stored-(\d+)\.json$/.exec(name)?.[1] ?? [])
  .map(Number)
  .toSorted((a, b) => a - b);
const formOf = (number: number): Form =>
  JSON.parse(readFileSync(`${FOLDER}/stored-${number}.json`, 'utf8')) as Form;

const PLACES: Readonly<Record<string, () => Promise<Place>>> = {
  redis: inRedis,
  postgres: inPostgres,
  mariadb: inMariadb,
  etcd: inEtcd,
  folder: inFolder,
};

async function at<T>(store: string, run: (place: Place) => Promise<T>): Promise<T> {
  const place = await PLACES[store]!();
  try {
    return await run(place);
  } finally {
    await place.end();
  }
}

const fresh = (store: string): Promise<Golden> =>
  at(store, async (place) => ({
    handedOut: await written(place, expect),
    stored: await place.dump(),
  }));

/**
 * The constant part of stored data: each name and field once, without random text and without
 * longer numbers such as times, versions, and server counts.
 */
function shapeOf(stored: Stored): unknown {
  const plain = (text: string) =>
    text
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}/g, 'random')
      .replaceAll(/\d+(\.+\d+)+|\d{2,}/g, '#');
  const shapes = Object.entries(stored).map(([place, fields]) => {
    const values = Object.entries(fields).map(([field, value]) => [plain(field), plain(value)]);
    return JSON.stringify({ [plain(place).replace(/ \d$/, ' #')]: Object.fromEntries(values) });
  });
  return [...new Set(shapes)].toSorted();
}

const HOW =
  'What is stored has another form than before. Is it meant? Run ' +
  'NEXT_STORED_FORM=1 npm test -- test/contract/stored-form';

it('matches the newest golden file', async () => {
  const stores = Object.keys(PLACES);
  const all = await Promise.all(stores.map(async (store) => [store, await fresh(store)] as const));
  const today: Form = Object.fromEntries(all);
  const number = NUMBERS.at(-1) ?? 0;
  const shapes = (form: Form) =>
    Object.fromEntries(Object.entries(form).map(([store, { stored }]) => [store, shapeOf(stored)]));
  const newest = number === 0 ? {} : shapes(formOf(number));
  const isNext = JSON.stringify(shapes(today)) !== JSON.stringify(newest);
  if (process.env['NEXT_STORED_FORM'] && isNext) {
    const text = `${JSON.stringify(today, null, 2)}\n`;
    writeFileSync(`${FOLDER}/stored-${number + 1}.json`, text);
    return;
  }
  expect({ [HOW]: shapes(today) }).toEqual({ [HOW]: newest });
});

async function carriedOn(store: string, golden: Golden, isAnother: boolean): Promise<string[]> {
  return at(store, async (place) => {
    await place.clock.advance(golden.handedOut.nowMs - place.clock.now());
    await place.load(golden.stored);
    if (isAnother) place.changeServer();
    return faultsOf(place, golden.handedOut, expect);
  });
}

for (const number of NUMBERS) {
  for (const [store, golden] of Object.entries(formOf(number))) {
    it(`continues data stored in ${store} in form ${number}`, async () => {
      for (const isAnother of [false, true]) {
        const faults = await carriedOn(store, golden, isAnother);
        expect(faults).toEqual([]);
      }
    });
  }
}

/** Stored numbers below those handed out, as a build with a read error would see them. */
function lowered({ stored, handedOut }: Golden): Golden {
  const { released, ends, locks } = handedOut;
  const numbers = [released.haveMs, ...Object.values(ends), ...locks.map(({ token }) => token)];
  const text = numbers.map(String).reduce((all, number) => {
    return all.replaceAll(number, `1${'0'.repeat(number.length - 1)}`);
  }, JSON.stringify(stored));
  return { stored: JSON.parse(text) as Stored, handedOut };
}

// A copied folder and another etcd always count as a loss of data.
it.each(['redis', 'postgres', 'mariadb'])('detects a duplicate in %s', async (store) => {
  const faults = await carriedOn(store, lowered(formOf(NUMBERS.at(-1)!)[store]!), false);
  expect(faults.map((fault) => fault.split(':')[0])).toEqual([
    'the token of done',
    'the counter order',
    'the counter ticket',
    expect.stringMatching(/^the worker id \d$/),
    expect.stringMatching(/^the worker id \d$/),
  ]);
});

it('detects a renamed field, but not another time or random text', () => {
  const { stored } = formOf(NUMBERS.at(-1)!)['redis']!;
  const changed = (found: RegExp, put: string) =>
    JSON.parse(JSON.stringify(stored).replaceAll(found, put)) as Stored;
  expect(shapeOf(changed(/safeFloorMs/g, 'floorMs'))).not.toEqual(shapeOf(stored));
  expect(shapeOf(changed(/\|shop/g, ',shop'))).not.toEqual(shapeOf(stored));
  expect(shapeOf(changed(/17672256/g, '17672257'))).toEqual(shapeOf(stored));
  expect(shapeOf(changed(/"incarnation":"../g, '"incarnation":"00'))).toEqual(shapeOf(stored));
});
