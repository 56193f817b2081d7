/**
 * The action of a job lock's holder as a function of the record and the times: late ticks, runs of
 * vanished processes, another schedule, a lost record.
 */
import { describe, expect, it } from '@jest/globals';
import {
  decide,
  recordIn,
  recordText,
  tickAfter,
  withBegun,
  withEnded,
  type CronOutcome,
  type CronRecord,
  type CronTerms,
} from '../../lib/cron/cron-record.js';
import { scheduleOf } from '../../lib/cron/schedule.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const TTL_MS = 10_000;

/** A time of 2026-06-01. */
const at = (time: string): number => Date.parse(`2026-06-01T${time}Z`);

function terms(expression: string, nowMs: number, more: Partial<CronTerms> = {}): CronTerms {
  return {
    schedule: scheduleOf(expression, 'UTC'),
    application: 'shop',
    nowMs,
    startedMs: nowMs,
    knownMs: undefined,
    lateMs: MINUTE,
    missed: 'once',
    attempts: 3,
    holdAtMostMs: HOUR,
    ...more,
  };
}

function recordOf(expression: string, settledMs: number): CronRecord {
  return { schedule: `${expression} UTC`, application: 'shop', settledMs, runs: [] };
}

interface Life {
  readonly fromMs: number;
  readonly hours: number;
  /** The outcome of run number `count`: `running` if its process is gone. */
  readonly ends: (count: number) => CronOutcome;
  readonly more?: Partial<CronTerms>;
}

/** A fleet that checks as early as it may; it detects a vanished process after the ttl. */
function lived(expression: string, { fromMs, hours, ends, more = {} }: Life) {
  const begun: { readonly atMs: number; readonly tickMs: number; readonly attempt: number }[] = [];
  let stored: CronRecord | undefined;
  let token = 0n;
  for (let nowMs = fromMs; nowMs < fromMs + hours * HOUR;) {
    const own = { startedMs: fromMs, ...more };
    const { record, due, untilMs } = decide(stored, terms(expression, nowMs, own));
    stored = record;
    if (due === undefined) {
      nowMs = Math.max(nowMs + 100, untilMs ?? Infinity);
      continue;
    }
    const { tickMs, skippedCount, attempt, isTooLate } = due;
    token++;
    stored = withBegun(record, { tickMs, skippedCount, startedAtMs: nowMs, by: 'p', token });
    const outcome = isTooLate ? 'skipped' : ends(begun.push({ atMs: nowMs, tickMs, attempt }));
    if (outcome !== 'running') stored = withEnded(stored, { token, outcome, tookMs: 100 });
    nowMs += outcome === 'running' ? TTL_MS : 100;
  }
  return { begun, record: stored! };
}

describe('a run whose process ended', () => {
  it('starts again at once, then after a minute, and then is given up', () => {
    const daily: Life = { fromMs: at('02:59:00'), hours: 20, ends: () => 'running' };
    const { begun, record } = lived('0 3 * * *', daily);
    expect(begun.map(({ atMs }) => atMs - at('03:00:00'))).toEqual([0, 10_000, 80_000]);
    expect(begun.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    expect(record.runs.map(({ outcome }) => outcome)).toEqual(['given-up', 'lost', 'lost']);
    expect(record.settledMs).toBe(at('03:00:00'));
  });

  it.each([1, 2, 10])('starts %s times in all if that is its limit', (attempts) => {
    const daily: Life = { fromMs: at('02:59:00'), hours: 20, ends: () => 'running' };
    const { begun, record } = lived('0 3 * * *', { ...daily, more: { attempts } });
    expect(begun).toHaveLength(attempts);
    expect(record.runs[0]!.outcome).toBe('given-up');
  });

  it.each(['once', 'skip'] as const)(
    'of a job that ends each process slows it down over ticks, with missed: %s',
    (missed) => {
      const ends = () => 'running' as const;
      const more = { missed, lateMs: missed === 'skip' ? 5000 : MINUTE };
      const { begun } = lived('* * * * *', { fromMs: at('02:59:30'), hours: 24, ends, more });
      const ofFirstHour = begun.filter(({ atMs }) => atMs < at('03:59:30'));
      expect(ofFirstHour.length).toBeLessThanOrEqual(9);
      expect(begun.length).toBeLessThan(40);
      const most = Math.max(...begun.map(({ attempt }) => attempt));
      expect(most).toBeLessThanOrEqual(3);
    },
  );

  it('does not slow down the run after one that ended', () => {
    const ends = (count: number) => (count <= 2 ? ('running' as const) : ('done' as const));
    const { begun } = lived('* * * * *', { fromMs: at('02:59:30'), hours: 1, ends });
    expect(begun.length).toBeGreaterThanOrEqual(58);
  });

  it('does not count shutdowns, and starts again at once after each', () => {
    let stored = recordOf('0 3 * * *', at('03:00:00') - 24 * HOUR);
    for (let token = 1n; token <= 6n; token++) {
      const nowMs = at('03:00:05') + Number(token) * 1000;
      const { record, due } = decide(stored, terms('0 3 * * *', nowMs));
      expect(due).toMatchObject({ attempt: 1, tickMs: at('03:00:00') });
      const run = { ...due!, startedAtMs: nowMs, by: 'p', token, isClosing: true };
      stored = withBegun(record, run);
    }
    const [, last] = stored.runs;
    expect(last!.outcome).toBe('interrupted');
  });

  it('is settled after its longest time', () => {
    const run = { skippedCount: 0, startedAtMs: at('03:00:00'), by: 'p', token: 1n };
    const begun = withBegun(recordOf('0 3 * * *', 0), { ...run, tickMs: at('03:00:00') });
    const { record, due } = decide(begun, terms('0 3 * * *', at('03:56:00')));
    expect(record.runs[0]).toMatchObject({ outcome: 'too-long', tookMs: 56 * MINUTE });
    expect([record.settledMs, due]).toEqual([at('03:00:00'), undefined]);
  });
});

describe('late ticks', () => {
  const stored = recordOf('*/10 * * * * *', at('03:00:00'));
  const due = (time: string, more: Partial<CronTerms> = {}) =>
    decide(stored, terms('*/10 * * * * *', at(time), more)).due;

  it('all run up to the limit, and of later ones only the last', () => {
    const next = { tickMs: at('03:00:10'), skippedCount: 0, attempt: 1, isTooLate: false };
    expect(due('03:00:35')).toEqual(next);
    expect(due('03:01:10')).toEqual(next);
    expect(due('03:02:05')).toMatchObject({ tickMs: at('03:01:10'), skippedCount: 6 });
    expect(due('03:00:10', { lateMs: 0 })).toMatchObject({ tickMs: at('03:00:10') });
  });

  it.each([
    ['once', false],
    ['skip', true],
  ] as const)('run once or are skipped, by missed: %s', (missed, isTooLate) => {
    const days = recordOf('0 3 * * *', at('03:00:00') - 72 * HOUR);
    const { due: found } = decide(days, terms('0 3 * * *', at('12:00:00'), { missed }));
    expect(found).toEqual({ tickMs: at('03:00:00'), skippedCount: 2, attempt: 1, isTooLate });
  });

  it('are settled if this process has seen so, although a stale record has not', () => {
    expect(due('03:00:35', { knownMs: at('03:00:30') })).toBeUndefined();
  });

  it('have a last one that is found among very many', () => {
    const everySecond = recordOf('* * * * * *', at('03:00:00') - 365 * 24 * HOUR);
    const { due: found } = decide(everySecond, terms('* * * * * *', at('03:00:00')));
    expect(found).toMatchObject({ tickMs: at('02:59:00'), skippedCount: 1000 });
    const leap = recordOf('0 3 29 2 *', 0);
    const { due: last } = decide(leap, terms('0 3 29 2 *', at('03:00:00')));
    expect(last!.tickMs).toBe(Date.UTC(2024, 1, 29, 3));
  });

  it('do not come from a schedule that has ended', () => {
    const back = { text: 'back', next: (ms: number) => ms - 1 };
    expect(tickAfter(back, 5)).toBeUndefined();
    const own = terms('* * * * *', at('03:00:00'), { schedule: back });
    const { due: found, untilMs } = decide(recordOf('* * * * *', 0), own);
    expect([found, untilMs]).toEqual([undefined, undefined]);
  });
});

describe('a changed schedule', () => {
  const stored = recordOf('10 10 * * *', at('10:10:00') - 24 * HOUR);
  const now = at('00:10:00');

  it('does not run at the deployment, and then runs at its own ticks', () => {
    const { record, due, untilMs } = decide(stored, terms('10 21 * * *', now));
    expect([due, untilMs]).toEqual([undefined, at('21:10:00')]);
    expect(record).toMatchObject({ schedule: '10 21 * * * UTC', settledMs: now });
    // A restart between the deployment and the first tick loses no tick.
    const later = decide(record, terms('10 21 * * *', at('22:00:00')));
    expect(later.due).toMatchObject({ tickMs: at('21:10:00') });
  });

  it('runs nothing of the version that is still deployed', () => {
    const { record } = decide(stored, terms('10 21 * * *', now));
    const old = { startedMs: now - 240 * HOUR, knownMs: stored.settledMs };
    const { due, untilMs } = decide(record, terms('10 10 * * *', now + 60_000, old));
    expect([due, untilMs]).toEqual([undefined, at('10:10:00')]);
  });
});

describe('without a record', () => {
  it("a tick since the start of the process is due, as during a store's opening pause", () => {
    const startedMs = at('02:59:54');
    const { due } = decide(undefined, terms('0 3 * * *', at('03:00:06'), { startedMs }));
    expect(due).toMatchObject({ tickMs: at('03:00:00'), skippedCount: 0 });
    const { due: none, record } = decide(undefined, terms('0 3 * * *', at('02:00:00')));
    expect([none, record.settledMs]).toEqual([undefined, at('02:00:00')]);
  });

  it('only the last tick is open, and earlier ones are counted', () => {
    const knownMs = at('03:00:00');
    const nowMs = at('03:00:12.500');
    const { due, record } = decide(undefined, terms('* * * * * *', nowMs, { knownMs }));
    expect(due).toMatchObject({ tickMs: at('03:00:12'), skippedCount: 11 });
    expect(record.settledMs).toBe(at('03:00:12') - 1);
  });
});

describe("a record's text", () => {
  const run = { tickMs: 5, skippedCount: 0, startedAtMs: 6, by: 'p', token: 7n, isClosing: true };
  const record = withBegun(recordOf('0 3 * * *', 4), run);

  it('contains the whole record', () => {
    expect(recordIn(recordText(record))).toEqual(record);
  });

  it.each(['tickMs', 'startedAtMs', 'tookMs', 'skippedCount', 'outcome', 'by', 'token'])(
    'leaves out a run whose %s is not to be read, and keeps the others',
    (name) => {
      const { runs, ...rest } = JSON.parse(recordText(record)) as { runs: object[] };
      const withBroken = (value: unknown) => [{ ...runs[0], [name]: value }, ...runs];
      for (const value of [undefined, null, '?', {}]) {
        const read = recordIn(JSON.stringify({ ...rest, runs: withBroken(value) }))!;
        expect(read.runs).toHaveLength(value === '?' && name === 'by' ? 2 : 1);
      }
    },
  );

  it.each([undefined, '', 'mine', '{}', '{"version":"2"}', '{"version":"1","schedule":"x"}'])(
    'is none where it is %j',
    (text) => {
      expect(recordIn(text)).toBeUndefined();
    },
  );

  it("has room for a tick's attempts, whatever the names are", () => {
    const by = '"'.repeat(64);
    const runs = Array.from({ length: 30 }, (_, n) => ({
      ...record.runs[0]!,
      by,
      outcome: 'lost' as const,
      tookMs: 86_400_000,
      tickMs: at('03:00:00'),
      startedAtMs: at('03:00:00'),
      token: 2n ** 63n - 1n - BigInt(n),
      skippedCount: 1000,
    }));
    const names = { schedule: '"'.repeat(200), application: '"'.repeat(64) };
    const read = recordIn(recordText({ ...record, ...names, runs }))!;
    expect(read.runs.length).toBeGreaterThanOrEqual(10);
  });
});
