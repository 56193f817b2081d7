/**
 * What the log says of the jobs of `@CronOnce`.
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
    const text = textOf(event);
    if (text === undefined) return;
    if (isError(event)) this.#logger.error(text);
    else this.#logger.warn(text);
  }
}

/** Somebody has to do something. */
function isError(event: CronEvent): boolean {
  if (event.kind === 'shared') return true;
  if (event.kind === 'ended') return event.outcome === 'too-long';
  return event.kind === 'gone' && ['given-up', 'too-long'].includes(event.run.outcome);
}

/** What the log says of an event; undefined for one that is as it should be. */
function textOf(event: CronEvent): string | undefined {
  const { job, kind } = event;
  if (kind === 'gone') return goneText(job, event.run);
  if (kind === 'ended' && event.outcome === 'too-long') {
    return (
      `${job} ran for ${event.tookMs} ms, as long as \`holdAtMostMs\` allows, and is given up. ` +
      'Its signal is aborted; whatever goes on has to look at it.'
    );
  }
  if (kind === 'skipped') {
    return (
      `${job} was too late for ${timeText(event.tickMs)}, and does not run for it: \`missed\` is ` +
      `'skip'. ${event.skippedCount} ticks before are left out as well.`
    );
  }
  if (kind === 'forgotten') {
    return (
      `The store has lost the record of ${job}. Its last tick may be done again, and ` +
      `${event.skippedCount} ticks before are left out, unless another process did them.`
    );
  }
  if (kind === 'shared') {
    return (
      `${job} is a job of the application ${printable(event.application)} as well, by its record ` +
      'in this store, and each tick is done by one of the two. Give each application a ' +
      '`namespace` of its own in the URL of its locks, or the job another `name`. If the ' +
      'application was renamed, there is nothing to do.'
    );
  }
  if (kind === 'clocks') {
    return (
      `${job} is due when the clock of the store of locks (${timeText(event.storeMs)}), that of ` +
      `this host (${timeText(event.hostMs)}) and the record of the job ` +
      `(${timeText(event.settledMs)}) have all reached a tick. Set the clock that is wrong.`
    );
  }
  if (kind === 'unavailable') {
    return `${job} is due and waits for its lock. ${errorText(event.error)}`;
  }
  if (kind !== 'began' || event.skippedCount === 0) return undefined;
  return `${job} was late: ${event.skippedCount} ticks before were left out.`;
}

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

/** A clock that is wrong may show any time. */
const timeText = (ms: number): string => new Date(ms).toJSON() ?? String(ms);
