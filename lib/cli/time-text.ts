/**
 * Times as operators write and read them.
 *
 * Guarantee: a time without its zone is refused, and every time in the output has its zone.
 */
import { systemClock } from '../core/clock.js';
import { quoted, usageFault, wholeOf } from './command.js';
import { lineChunks, type Terminal } from './terminal.js';

/** The first and the last millisecond of the day, minute or second that was written. */
interface WrittenTime {
  readonly firstMs: number;
  readonly lastMs: number;
}

const ISO =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}:\d{2})(:\d{2})?(\.\d{1,3})?(Z|[+-]\d{2}:\d{2}))?$/;
/** Unix milliseconds have fewer digits. */
const MS_END = 1e15;
const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const YEAR_MS = 365.25 * DAY_MS;

/** @throws SnowflakeError CONFIG_INVALID */
export function readTime(label: string, text: string): WrittenTime {
  if (text === 'now') return moment(systemClock.now());
  const ms = wholeOf(text);
  if (ms !== undefined && ms < MS_END) return moment(ms);
  const parts = ISO.exec(text);
  const firstMs = Date.parse(text.replace(' ', 'T'));
  if (parts === null || Number.isNaN(firstMs) || !isDayOfMonth(parts)) {
    throw usageFault(
      `Expected ${label} to be a time with its zone such as 2026-11-01T08:30:00Z, a date ` +
        `(UTC), Unix milliseconds or now, got ${quoted(text)}.`,
    );
  }
  const [, , , , time, seconds, fraction] = parts;
  if (time === undefined) return { firstMs, lastMs: firstMs + DAY_MS - 1 };
  if (fraction !== undefined) return moment(firstMs);
  const spanMs = seconds === undefined ? MINUTE_MS : SECOND_MS;
  return { firstMs, lastMs: firstMs + spanMs - 1 };
}

const moment = (ms: number): WrittenTime => ({ firstMs: ms, lastMs: ms });

/** Date.parse takes the 30th of February for the 2nd of March. */
function isDayOfMonth([, year, month, day]: readonly (string | undefined)[]): boolean {
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCDate() === Number(day);
}

/** ISO 8601; a time too far away for Date appears in milliseconds. */
export function utcText(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? `${ms} ms` : date.toISOString();
}

/** The same time in the zone of this host: 2026-11-21 17:11:20.123 +08:00. */
export function localText(ms: number): string {
  const offsetMin = -new Date(ms).getTimezoneOffset();
  const side = offsetMin < 0 ? '-' : '+';
  const two = (number: number) => String(number).padStart(2, '0');
  const minutes = Math.abs(offsetMin);
  const zone = `${side}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
  return `${utcText(ms + offsetMin * MINUTE_MS)
    .replace('T', ' ')
    .replace('Z', '')} ${zone}`;
}

/** A rounded duration: 48 s, 12 min, 69.7 years. */
export function spanText(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < 2 * MINUTE_MS) return `${Math.round(ms / SECOND_MS)} s`;
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`;
  if (ms < 2 * DAY_MS) return `${Math.round(ms / HOUR_MS)} h`;
  if (ms < 2 * YEAR_MS) return `${Math.round(ms / DAY_MS)} days`;
  return `${(ms / YEAR_MS).toFixed(1)} years`;
}

/*
 * Asks before a change that others would feel.
 *
 * Guarantee: only the word yes is a yes. Without a terminal the command is refused and does not
 * wait.
 */

/** True when the operator types yes. @throws SnowflakeError CONFIG_INVALID without a terminal */
export async function confirm(terminal: Terminal, question: string): Promise<boolean> {
  if (terminal.stdin.isTTY !== true) {
    throw usageFault(
      'Standard input is not a terminal, so nobody can confirm this. Nothing was changed. In a ' +
        'script add --yes.',
    );
  }
  await terminal.ask(`${question} Type yes to continue: `);
  for await (const [answer = ''] of lineChunks(terminal.stdin)) return /^yes\s*$/i.test(answer);
  return false;
}
