/**
 * The computations of the playground: valid layouts, and IDs decoded by every preset.
 */
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { BitLayout, layouts, textForms } from 'nestjs-snowflake/core';
import { addressOf, shownBy } from '../../site/playground/address.js';
import {
  FIRST_DRAFT,
  codeOf,
  draftOf,
  factsOf,
  layoutOf,
  moved,
  textOf,
} from '../../site/playground/draft.js';
import { makerOf } from '../../site/playground/making.js';
import { PRESETS } from '../../site/playground/presets.js';
import { readId, readLayout, readText } from '../../site/playground/reading.js';
import { textsOf } from '../../site/playground/texts.js';

const TEXTS = textsOf('en');

describe('a composed layout', () => {
  it('has 63 bits, wherever its borders are', () => {
    let draft = FIRST_DRAFT;
    for (let n = 0; n < 500; n++) {
      draft = moved(draft, (n % 2) as 0 | 1, ((n * 37) % 127) - 63);
      expect(draft.bits.reduce((sum, bits) => sum + bits)).toBe(63);
      expect(layoutOf(draft)).toBeInstanceOf(BitLayout);
    }
    expect(moved(FIRST_DRAFT, 0, 63).bits).toEqual([47, 4, 12]);
    expect(moved(FIRST_DRAFT, 0, -63).bits).toEqual([28, 23, 12]);
  });

  it("starts as the library's default, with its facts", () => {
    const layout = layoutOf(FIRST_DRAFT) as BitLayout;
    expect(layout.fingerprint).toBe(layouts.snowflake().fingerprint);
    expect(Object.fromEntries(factsOf(layout, TEXTS.compose))).toEqual({
      lifetime: '69.7 years',
      'last day': '2093-09-06',
      'worker ids': '1,024',
      'ids per second of one worker': '4,096,000',
      'ids per second of all': '4,194,304,000',
      'longest id': '19 digits',
    });
  });

  it('is shown as code that creates it', () => {
    const draft = { epoch: '2025-02-03', unitMs: 10, bits: [40, 11, 12] } as const;
    const made = runInNewContext(codeOf(draft), { BitLayout }) as BitLayout;
    expect(made.fingerprint).toBe((layoutOf(draft) as BitLayout).fingerprint);
  });

  it('reports its errors', () => {
    expect(layoutOf({ ...FIRST_DRAFT, epoch: '2999-01-01' })).toContain('in the past');
    expect(layoutOf({ ...FIRST_DRAFT, epoch: '' })).toContain('epoch');
  });
});

describe('a decoded ID', () => {
  it('has each field explained, in every preset that fits it', () => {
    const tweet = 1_427_970_479_175_499_776n;
    const readings = PRESETS.map(({ layout }) => readId(tweet, layout, TEXTS.read));
    const refused = readings.map((reading) => typeof reading === 'string');
    expect(refused).toEqual(PRESETS.map(({ layout }) => tweet > layout.idMax));
    const read = readings.filter((reading) => typeof reading !== 'string');
    expect(new Set(read.map(({ bits }) => BigInt(`0b${bits}`)))).toEqual(new Set([tweet]));
  });

  it('can use a custom layout, in the notation of the command line', () => {
    const typed = {
      fields: 'timestamp:41, worker:10,sequence:12',
      epoch: '2024-01-01',
      unitMs: '1',
    };
    const layout = readLayout(typed, TEXTS.read) as BitLayout;
    expect(layout.fingerprint).toBe(layouts.snowflake().fingerprint);
    const faultOf = (changed: object) => readLayout({ ...typed, ...changed }, TEXTS.read);
    expect(faultOf({ fields: 'timestamp:41,worker' })).toContain('got "worker"');
    expect(faultOf({ fields: 'timestamp:41,sequence:60' })).toContain('1 to 31 bits');
    expect(faultOf({ unitMs: '' })).toContain('unitMs');
    expect(faultOf({ epoch: 'soon' })).toContain('epoch');
  });

  it('can be entered in every text form; errors are explained', () => {
    const id = 382_366_441_078_288_384n;
    for (const [name, form] of Object.entries(textForms)) {
      expect(readText(` ${form.encode(id)} `, name)).toBe(id);
    }
    expect(readText('12x', 'decimal')).toContain('12x');
  });
});

it('generated IDs are all different', () => {
  const make = makerOf(layouts.baidu(), 5);
  const made = [...make(1000), ...make(1000)];
  expect(new Set(made).size).toBe(2000);
});

describe('a link to the current view', () => {
  const first = { id: '1', layout: 'snowflake', fields: 'timestamp:41' };
  const shown = { ...first, id: '2&layout=x#', layout: 'twitter' };

  it('contains the changed inputs, and restores them', () => {
    expect(addressOf('read', first, first)).toBe('#read');
    const address = addressOf('read', shown, first);
    expect(address).not.toContain('fields');
    expect(shownBy(address, 'read', first)).toEqual(shown);
    expect(shownBy(address, 'compose', first)).toBeUndefined();
    expect(shownBy('#read', 'read', first)).toBeUndefined();
  });

  it('changes only inputs of its section, and only to available choices', () => {
    const choices = { layout: ['snowflake', 'twitter'] };
    const address = '#read?id=3&layout=toString&key=secret&__proto__=1';
    expect(shownBy(address, 'read', first, choices)).toEqual({ ...first, id: '3' });
  });

  it('contains a draft as text, and rejects an invalid layout', () => {
    const draft = { epoch: '2025-02-03', unitMs: 10, bits: [40, 11, 12] } as const;
    expect(draftOf(textOf(draft))).toEqual(draft);
    expect(draftOf('41-10-13,2024-01-01,1')).toBeUndefined();
    expect(draftOf('62-1-0,2024-01-01,1')).toBeUndefined();
    expect(draftOf('')).toBeUndefined();
  });
});
