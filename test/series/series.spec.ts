/**
 * Series by day, month and year: the text both ways, the edge of a day in its zone, and what is
 * refused.
 */
import { describe, expect, it } from '@jest/globals';
import { MemoryCounters } from 'nestjs-snowflake';
import { series, type SeriesOptions } from 'nestjs-snowflake/segments';
import { codeOf } from '../until.js';

function invoices(options: Partial<SeriesOptions> = {}, now = '2026-11-20T15:59:59.999Z') {
  const clock = { ms: Date.parse(now), now: () => clock.ms };
  const made = series({
    store: new MemoryCounters({ clock }),
    name: 'invoice',
    period: 'day',
    timeZone: 'Asia/Shanghai',
    form: 'INV-{date}-{000000}',
    clock,
    ...options,
  });
  return { clock, made };
}

describe('a series', () => {
  it('begins anew with the day of its zone', async () => {
    const { clock, made } = invoices();
    expect([await made.next(), await made.next()]).toEqual([
      'INV-20261120-000001',
      'INV-20261120-000002',
    ]);
    clock.ms += 1;
    expect(await made.next()).toBe('INV-20261121-000001');
    clock.ms -= 1;
    expect(await made.next()).toBe('INV-20261120-000003');
  });

  it.each([
    ['month', 'R{date}/{0000}', 'R202611/0001'],
    ['year', '{date}{000}', '2026001'],
    ['day', '{date}.{0}.X', '20261120.1.X'],
  ] as const)('by %s in the form %s', async (period, form, text) => {
    expect(await invoices({ period, form }).made.next()).toBe(text);
  });

  it.each([
    ['Pacific/Kiritimati', '20261231'],
    ['Pacific/Pago_Pago', '20261229'],
    ['UTC', '20261230'],
  ])('knows the day in %s', async (timeZone, day) => {
    const { made } = invoices({ timeZone, form: '{date}-{0}' }, '2026-12-30T10:00:00Z');
    expect(await made.next()).toBe(`${day}-1`);
  });

  it('gives everybody another number', async () => {
    const { made } = invoices();
    const all = await Promise.all(Array.from({ length: 200 }, () => made.next()));
    expect(new Set(all).size).toBe(200);
    expect(all.toSorted().at(-1)).toBe('INV-20261120-000200');
  });

  it('ends where its digits end, and repeats nothing', async () => {
    const { made } = invoices({ form: '{date}-{0}' });
    for (let number = 1; number <= 9; number++) await made.next();
    await expect(made.next()).rejects.toMatchObject({ code: 'COUNTER_FULL' });
    await expect(made.next()).rejects.toMatchObject({ code: 'COUNTER_FULL' });
  });

  it('is read and written both ways', () => {
    const { made } = invoices({ form: 'A.{date}+{000}(x)' });
    const parts = { period: '20261120', number: 42 };
    expect(made.textOf(parts)).toBe('A.20261120+042(x)');
    expect(made.parse('A.20261120+042(x)')).toEqual(parts);
    for (const wrong of ['A.20261120+42(x)', 'Ax20261120+042(x)', 'A.20261120+000(x)', '', 7]) {
      expect(codeOf(() => made.parse(wrong as string))).toBe('ID_INVALID');
    }
    for (const wrong of [{ number: 0 }, { number: 1.5 }, { period: '2026' }, { period: 'x' }]) {
      expect(codeOf(() => made.textOf({ ...parts, ...wrong }))).toBe('ARGUMENT_INVALID');
    }
    expect(codeOf(() => made.textOf({ ...parts, number: 1000 }))).toBe('COUNTER_FULL');
  });

  it.each([
    [{ timeZone: 'Mars/Olympus' }],
    [{ timeZone: undefined as never }],
    [{ period: 'week' as never }],
    [{ form: 'INV-{000}' }],
    [{ form: '{000}-{date}' }],
    [{ form: '{date}-{0000000000000000}' }],
    [{ name: 'a/b' }],
    [{ store: {} as never }],
    [{ store: Object.assign(new MemoryCounters(), { lossWindowMs: 1 }) as never }],
  ])('%# is refused', (options) => {
    expect(codeOf(() => invoices(options))).toBe('CONFIG_INVALID');
  });
});
