/**
 * Ids without a Nest application: scripts, seeds, migrations, TypeORM's command line.
 *
 * Promise: the lease, its renewal and its release are those of SnowflakeModule, made of the same
 * parts; entities with @SnowflakeId() get ids while it runs.
 */
import { createEngine } from './engine.js';
import { GeneratorRun } from './generator-run.js';
import type { IdMaker } from './id-maker.js';
import { resolveOptions, type SnowflakeModuleOptions } from './options.js';
import { RefreshAlive } from './refresh-alive.job.js';

/** The options of SnowflakeModule.forRoot(), and the name of the generator where it has one. */
export interface SnowflakeScriptOptions extends SnowflakeModuleOptions {
  /** As entities name it: `@SnowflakeId({ maker: 'tickets' })`. Default: none. */
  readonly name?: string;
}

/** A generator that runs until it is closed. */
export interface RunningSnowflake {
  readonly ids: IdMaker;
  /**
   * Gives the worker id back and closes the connection. It never fails and may be called
   * again; where the store does not answer it takes callTimeoutMs and 1 s at most. Until then the
   * process does not end.
   */
  close(): Promise<void>;
  /** The same, at the end of the block: `await using snowflake = await startSnowflake(...)`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Leases a worker id for a script and renews it until `close()`, or to the end of the block with
 * `await using`. Each call leases one more worker id, beside other processes, applications of this
 * process, and other calls; while several run, entities take their ids from the one started last.
 *
 * @param options those of SnowflakeModule; ScheduleModule is not needed
 * @throws SnowflakeError CONFIG_INVALID with every fault of the options; or what kept it from a
 * worker id for `startTimeoutMs`. Nothing is left open then.
 * @example
 * ```ts
 * import { startSnowflake } from 'nestjs-snowflake';
 *
 * await using snowflake = await startSnowflake({
 *   support: 'redis://localhost:6379?namespace=shop',
 * });
 * snowflake.ids.nextIdString(); // '382366441078288384'
 * ```
 */
export async function startSnowflake(options: SnowflakeScriptOptions): Promise<RunningSnowflake> {
  const isObject = typeof options === 'object' && options !== null;
  const { name, ...given } = isObject ? options : {};
  const config = await resolveOptions(isObject ? given : options, true);
  const { support } = config;
  const engine = createEngine(config, support, name);
  const refreshAlive = new RefreshAlive(undefined, engine.keeper, config, name);
  const { idMaker: ids } = engine;
  const run = new GeneratorRun({ name, config, support, engine, idMaker: ids, refreshAlive });
  await run.start(() => []);
  const close = () => run.stop();
  return { ids, close, [Symbol.asyncDispose]: close };
}
