/**
 * The generators now running in this process, for code without dependency injection, such as
 * entity listeners. Applications and scripts add theirs at start and remove it at shutdown.
 */
import { SnowflakeError } from '../errors.js';
import { processWide } from '../process-wide.js';
import type { IdMaker } from './id-maker.js';

interface Running {
  readonly generator: string | undefined;
  readonly ids: IdMaker;
}

const running = processWide('running-id-makers', () => [] as Running[]);

export function addIdMaker(generator: string | undefined, ids: IdMaker): void {
  running.push({ generator, ids });
}

export function removeIdMaker(ids: IdMaker): void {
  const at = running.findIndex((entry) => entry.ids === ids);
  if (at >= 0) running.splice(at, 1);
}

/** Undefined where none of this name is running, or not yet. */
export function runningIdMaker(generator: string | undefined): IdMaker | undefined {
  return running.findLast((candidate) => candidate.generator === generator)?.ids;
}

/**
 * The IdMaker that is running in this process, for code without dependency injection, such as the
 * default of a column. Ask for it when an id is needed and not before; where several of this name
 * run, it is the one started last.
 *
 * @param generator the `name` of the generator; without one, the generator that has none
 * @throws SnowflakeError NOT_READY when no such generator is running
 * @example
 * ```ts
 * import { currentIdMaker } from 'nestjs-snowflake';
 *
 * const order = { id: currentIdMaker().nextIdString(), note: 'by hand' };
 * ```
 */
export function currentIdMaker(generator?: string): IdMaker {
  const ids = runningIdMaker(generator);
  if (ids !== undefined) return ids;
  const wanted = generator === undefined ? 'No generator' : `No generator named '${generator}'`;
  const option = generator === undefined ? '' : ` with name: '${generator}'`;
  throw new SnowflakeError(
    'NOT_READY',
    `${wanted} is running, so no id was made. In an application import ` +
      `SnowflakeModule.forRoot(...)${option} and make ids after its onModuleInit; in a script, ` +
      `migration or seed await startSnowflake(...)${option} first.`,
  );
}
