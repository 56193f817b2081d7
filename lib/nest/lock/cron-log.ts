/**
 * The log lines about the jobs of `@CronOnce`.
 */
import { Logger } from '@nestjs/common';
import type { CronEvent } from '../../cron/cron-once.js';
import type { CronRunRecord } from '../../cron/cron-record.js';
import { errorText, printable } from '../../messages.js';

export class CronLog {
  readonly #logger = new Logger('CronOnce');

  noteZone(timeZone: string): void {
    this.#logger.warn(
      `Jobs without a time zone are due by UTC, and this process is on ${timeZone}. Give ` +
        `LockModule \`cron: { timeZone: '${timeZone}' }\` if they are meant so, or 'UTC'.`,
    );
  }

  note(event: CronEvent): void {
    if (event.kind === 'ended' && event.outcome === 'failed') this.#logger.error(event.error);
    const text = TEXTS[event.kind](event as never);
    if (text === undefined) return;
    if (isError(event)) this.#logger.error(text);
    else this.#logger.warn(text);
  }
}

/** An operator has to act. */
function isError(event: CronEvent): boolean {
  if (event.kind === 'shared') return true;
  if (event.kind === 'ended') return event.outcome === 'too-long';
  return event.kind === 'gone' && ['given-up', 'too-long'].includes(event.run.outcome);
}

type TextOf<K> = (event: Extract<CronEvent, { readonly kind: K }>) => string | undefined;

/** The events that need attention. */
const TEXTS: { readonly [K in CronEvent['kind']]: TextOf<K> } = {
  began: ({ job, skippedCount }) =>
    skippedCount === 0 ? undefined : `${job} was late: ${skippedCount} ticks before were left out.`,
  ended: ({ job, outcome, tookMs }) =>
    outcome === 'too-long'
      ? `${job} ran for ${tookMs} ms, as long as \`holdAtMostMs\` allows, and is given up. Its ` +
        'signal is aborted; whatever continues has to look at it.'
      : undefined,
  gone: ({ job, run }) => goneText(job, run),
  skipped: ({ job, tickMs, skippedCount }) =>
    `${job} was too late for its tick of ${timeText(tickMs)}, and skips it (\`missed: 'skip'\`). ` +
    `It also skips ${skippedCount} earlier ticks.`,
  forgotten: ({ job, skippedCount }) =>
    `The store has lost the record of ${job}. Its last tick may be done again, and ` +
    `${skippedCount} ticks before are left out, unless another process did them.`,
  shared: ({ job, application }) =>
    `${job} is a job of the application ${printable(application)} as well, by its record in this ` +
    'store, and each tick is done by one of the two. Give each application a `namespace` of its ' +
    'own in the URL of its locks, or the job another `name`. If the application was renamed, ' +
    'there is nothing to do.',
  ahead: ({ job, settledMs, nowMs }) =>
    `${job} has been run up to ${timeText(settledMs)}, and it is ${timeText(nowMs)}: a clock was ` +
    'ahead. The next tick runs after that time.',
  unavailable: ({ job, error }) => `${job} is due and waits for its lock. ${errorText(error)}`,
};

function goneText(job: string, { tickMs, by, outcome, tookMs }: CronRunRecord): string {
  const run = `The run of ${job} for ${timeText(tickMs)} did not end: ${printable(by)}`;
  if (outcome === 'interrupted') return `${run} was shut down. It is done again.`;
  if (outcome === 'too-long') return `${run} took ${tookMs} ms, and it is given up.`;
  if (outcome === 'lost') {
    return `${run} is gone, or lost its lock. It is done again, with a higher token.`;
  }
  return (
    `${run} is gone, or lost its lock, as others before it. It is given up: the run may end its ` +
    'process, by a lack of memory or an exit. After the cause is mended, `runNow` does it.'
  );
}

/** A wrong clock may show any time. */
export const timeText = (ms: number): string => new Date(ms).toJSON() ?? String(ms);
