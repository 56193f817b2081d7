/**
 * Ids that other systems made: each vector was made by the system's own code or is printed in its
 * documents, and the preset reads and writes it.
 */
import { describe, expect, it } from '@jest/globals';
import { BitLayout, layouts, textForms } from '../../../lib/core/index.js';
import { codeOf } from '../../code-of.js';

interface Vector {
  readonly system: string;
  /** Where the id is from. */
  readonly source: string;
  readonly layout: BitLayout;
  readonly id: bigint;
  readonly time: string;
  readonly fields: Readonly<Record<string, number>>;
}

/** The clock under which the vectors made by running a system were made. */
const AT = '2026-11-21T03:07:43.578Z';

const VECTORS: readonly Vector[] = [
  {
    system: 'TSID',
    source: 'README of f4b6a3/tsid-creator, "Sequence of TSIDs", first line',
    layout: layouts.tsid(),
    id: 38352658567418867n,
    time: '2020-04-15T19:59:46.360Z',
    fields: { node: 421, sequence: 1011 },
  },
  {
    system: 'TSID',
    source: 'the same, where its millisecond changes',
    layout: layouts.tsid(),
    id: 38352658573940759n,
    time: '2020-04-15T19:59:46.361Z',
    fields: { node: 989, sequence: 2071 },
  },
  {
    system: 'MyBatis-Plus',
    source: 'nextId() of its Sequence 3.5 under Java 17, worker 7, datacenter 9',
    layout: layouts.mybatisPlus(),
    id: 2123976624764514305n,
    time: AT,
    fields: { datacenter: 9, worker: 7, sequence: 1 },
  },
  {
    system: 'Hutool',
    source: 'nextId() of its Snowflake 5 under Java 17, worker 3, datacenter 5',
    layout: layouts.hutool(),
    id: 2123976624763973633n,
    time: AT,
    fields: { datacenter: 5, worker: 3, sequence: 1 },
  },
  {
    system: 'ShardingSphere',
    source: 'SnowflakeKeyGenerateAlgorithmTest, a clock at its epoch and 4 ms on',
    layout: layouts.shardingSphere(),
    id: 16777216n,
    time: '2016-11-01T00:00:00.004Z',
    fields: { worker: 0, sequence: 0 },
  },
  {
    system: 'yitter',
    source: 'README of simple-flakeid, its TypeScript, `ts-node test/test4.ts`',
    layout: layouts.yitter({ epoch: '2020-01-01' }),
    id: 234712552579141n,
    time: '2021-10-25T05:27:49.282Z',
    fields: { worker: 1, sequence: 5 },
  },
  {
    system: 'yitter',
    source: 'simple-flakeid 0.0.5, the 64th id of one millisecond, drifted into the next',
    layout: layouts.yitter({ epoch: '2020-01-01' }),
    id: 890444446019657n,
    time: '2026-11-21T03:07:43.579Z',
    fields: { worker: 1, sequence: 9 },
  },
  {
    system: 'yitter',
    source: 'simple-flakeid 0.0.5 with the epoch of C#, Java and Go, 10 and 12 bits',
    layout: layouts.yitter({ workerIdBitLength: 10, seqBitLength: 12 }),
    id: 893781274852888581n,
    time: AT,
    fields: { worker: 9, sequence: 5 },
  },
  {
    system: 'nodejs-snowflake',
    source: 'nodejs-snowflake 2.0.1, instance_id 7, custom_epoch 1546300800000',
    layout: layouts.nodejsSnowflake(),
    id: 1044086683663866880n,
    time: AT,
    fields: { instance: 7, sequence: 0 },
  },
  {
    system: 'flake-idgen',
    source: 'README of flake-idgen, "Breakdown of bits for an id"',
    layout: layouts.flakeIdgen(),
    id: 5828128208445124608n,
    time: '2014-01-12T13:40:46.279Z',
    fields: { datacenter: 7, worker: 3, sequence: 0 },
  },
  {
    system: 'flake-idgen',
    source: 'flake-idgen 1.4.0, datacenter 9, worker 7, the second id of a millisecond',
    layout: layouts.flakeIdgen(),
    id: 7529742314308268033n,
    time: AT,
    fields: { datacenter: 9, worker: 7, sequence: 1 },
  },
  {
    system: 'Mastodon',
    source: 'docs.joinmastodon.org, entity Status, created 52 ms later by its created_at',
    layout: layouts.mastodon(),
    id: 103270115826048975n,
    time: '2019-12-08T03:48:33.849Z',
    fields: { sequence: 40911 },
  },
];

describe('the presets of other systems', () => {
  it.each(VECTORS)('read and write the ids of $system: $source', (vector) => {
    const { layout, id, time, fields } = vector;
    const parts = layout.parse(id);
    expect(parts.date.toISOString()).toBe(time);
    expect(parts.fields).toMatchObject(fields);
    const { timestampMs, workerId, sequence } = parts;
    expect(layout.compose({ timestampMs, workerId, sequence })).toBe(id);
  });

  it.each([
    ['tsid', 't41-w10-s12/1ms@1577836800000', 2089],
    ['mybatisPlus', 't41-w10-s12/1ms@1288834974657', 2080],
    ['hutool', 't41-w10-s12/1ms@1288834974657', 2080],
    ['shardingSphere', 't41-w10-s12/1ms@1477958400000', 2086],
    ['yitter', 't47-w6-s6/1ms@1582136402000', 6479],
    ['nodejsSnowflake', 't41-w12-s10/1ms@1546300800000', 2088],
    ['flakeIdgen', 't41-w10-s12/1ms@0', 2039],
    ['mastodon', 't47-s16/1ms@0', 6429],
  ] as const)('%s has the bits and the end it should', (name, fingerprint, year) => {
    const layout = layouts[name]();
    expect([layout.fingerprint, layout.lastDate.getUTCFullYear()]).toEqual([fingerprint, year]);
  });

  it('take the bits that their systems let one choose, and no others', () => {
    expect(layouts.tsid({ nodeBits: 8 }).fingerprint).toBe('t41-w8-s14/1ms@1577836800000');
    const wide = layouts.yitter({ workerIdBitLength: 15, seqBitLength: 7 });
    expect(wide.fingerprint).toBe('t41-w15-s7/1ms@1582136402000');
    for (const wrong of [
      () => layouts.tsid({ nodeBits: 21 }),
      () => layouts.tsid({ nodeBits: 0 }),
      () => layouts.yitter({ workerIdBitLength: 16 }),
      () => layouts.yitter({ workerIdBitLength: 15, seqBitLength: 8 }),
      () => layouts.yitter({ seqBitLength: 2.5 }),
    ]) {
      expect(codeOf(wrong)).toBe('CONFIG_INVALID');
    }
  });

  it('ShardingSphere counts from midnight where its machine stands', () => {
    const china = layouts.shardingSphere({ epoch: '2016-11-01T00:00:00+08:00' });
    expect(layouts.shardingSphere().epochMs - china.epochMs).toBe(8 * 3_600_000);
  });
});

describe('the text of a TSID', () => {
  const form = textForms.sortableCrockford32;

  /**
   * The README of f4b6a3/tsid-creator prints the first as text with its time 9153062458 and its
   * random part 305516; the second is the example of TSID.fast() of Hypersistence in print.
   */
  it.each([
    [(9153062458n << 22n) + 305516n, '0123456789ABC', '2020-04-15T22:31:02.458Z'],
    [556028620837202474n, '0FDV92PPZ7AHA', '2024-03-14T08:19:13.719Z'],
  ])('is sortableCrockford32: %p is %s, of %s', (id, text, time) => {
    expect(form.encode(id)).toBe(text);
    expect(form.decode(text)).toBe(id);
    expect(form.decode(text.toLowerCase())).toBe(id);
    expect(layouts.tsid().parse(id).date.toISOString()).toBe(time);
  });

  it('reads O as 0 and I and L as 1, in either case, as Tsid.isValid takes them', () => {
    const id = form.decode('0123456789AB0') / 32n;
    const last = (text: string) => form.decode(text) - id * 32n;
    expect(['i', 'I', 'l', 'L', 'o', 'O'].map((end) => last(`0123456789AB${end}`))).toEqual([
      1n,
      1n,
      1n,
      1n,
      0n,
      0n,
    ]);
  });

  it.each([
    '0123456789AB',
    '0123456789ABCC',
    '0123456789ABu',
    '0123456789AB#',
    '',
    'G000000000000',
  ])('refuses %j, as Tsid.isValid does', (text) =>
    expect(codeOf(() => form.decode(text))).toBe('ID_INVALID'),
  );

  it('refuses the 64th bit, which a TSID sets from 2089 on', () => {
    expect(form.decode('7ZZZZZZZZZZZZ')).toBe(2n ** 63n - 1n);
    expect(codeOf(() => form.decode('8000000000000'))).toBe('ID_INVALID');
  });
});
