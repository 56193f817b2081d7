/**
 * The generators running in this process, of applications and scripts, for code that has no
 * injector: entity listeners. Filled at start, emptied at the end; the last started comes first.
 */
import { SnowflakeError } from '../errors.js';
import { processWide } from '../process-wide.js';
import type { IdMaker } from './id-maker.js';

interface Running {
  readonly name: string | undefined;
  readonly maker: IdMaker;
}

const running = processWide('running-id-makers', () => [] as Running[]);

export function addIdMaker(name: string | undefined, maker: IdMaker): void {
  running.push({ name, maker });
}

export function removeIdMaker(maker: IdMaker): void {
  const at = running.findIndex((entry) => entry.maker === maker);
  if (at >= 0) running.splice(at, 1);
}

/** @throws SnowflakeError NOT_READY when no application that runs has a generator of this name. */
export function currentIdMaker(name?: string): IdMaker {
  const entry = running.findLast((candidate) => candidate.name === name);
  if (entry !== undefined) return entry.maker;
  const wanted = name === undefined ? 'No generator' : `No generator named '${name}'`;
  const option = name === undefined ? '' : ` with name: '${name}'`;
  throw new SnowflakeError(
    'NOT_READY',
    `${wanted} is running, so no id was made. In an application import ` +
      `SnowflakeModule.forRoot(...)${option} and make ids after its onModuleInit; in a script, ` +
      `migration or seed await startSnowflake(...)${option} first.`,
  );
}
