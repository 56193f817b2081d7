/**
 * The nights with clock changes, as the guide describes them.
 */
import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { scheduleOf } from '../../lib/cron/schedule.js';

const HOUR = 3_600_000;
const EXPRESSIONS = [
  '0 3 * * *',
  '30 2 * * *',
  '0 0 * * *',
  '0 * * * *',
  '*/15 2 * * *',
  '0 */2 * * *',
];
/** The Unix times of clock changes. */
const NIGHTS = [
  ['Europe/Berlin', '2027-03-28T01:00Z', '2027-10-31T01:00Z'],
  ['America/New_York', '2027-03-14T07:00Z', '2027-11-07T06:00Z'],
  ['Australia/Lord_Howe', '2027-10-02T15:30Z', '2027-04-03T15:00Z'],
  ['Africa/Cairo', '2027-04-29T22:00Z', '2027-10-28T21:00Z'],
  ['America/Santiago', '2027-09-05T04:00Z', '2027-04-04T03:00Z'],
  ['Antarctica/Troll', '2027-03-28T01:00Z', '2027-10-31T01:00Z'],
] as const;

/** The wall time at each tick around a change; ' marks the second occurrence. */
function ticksOf(expression: string, zone: string, change: string): string {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'short' });
  const schedule = scheduleOf(expression, zone);
  const shown = new Set<string>();
  const ticks: string[] = [];
  const changeMs = Date.parse(change);
  const endMs = changeMs + 4.25 * HOUR;
  for (let at = schedule.next(changeMs - 1.5 * HOUR - 1)!; at < endMs; at = schedule.next(at)!) {
    // Records each wall time shown so far, to detect a second occurrence.
    for (let ms = changeMs - 2 * HOUR; ms < at; ms += 60_000) shown.add(format.format(ms));
    const time = format.format(at);
    ticks.push(time.replace(/^0/, '') + (shown.has(time) ? "'" : ''));
  }
  return ticks.join(' ') || '-';
}

function shownAt(zone: string, ms: number): string {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeStyle: 'short' });
  return format.format(ms).replace(/^0/, '');
}

it.each(['docs', 'docs/zh'])('the table of %s lists the ticks of both nights', (folder) => {
  const page = readFileSync(`${folder}/guides/one-cron-job.md`, 'utf8');
  const rows = NIGHTS.flatMap(([zone, ...nights]) =>
    nights.map((change) => {
      const ms = Date.parse(change);
      const [before, after] = [shownAt(zone, ms - 60_000), shownAt(zone, ms)];
      const cells = EXPRESSIONS.map((expression) => ticksOf(expression, zone, change));
      return `| ${[`${zone} ${before} → ${after}`, ...cells].join(' | ')} |`;
    }),
  );
  const head = `| ${['night', ...EXPRESSIONS.map((text) => `\`${text}\``)].join(' | ')} |`;
  const lines = page.split('\n');
  for (const row of folder === 'docs' ? [head, ...rows] : rows) expect(lines).toContain(row);
});
