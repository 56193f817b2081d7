/**
 * IDs without a Nest application, for scripts, seeds, migrations and the TypeORM command line.
 *
 * It leases, renews and releases a worker ID with the same parts as SnowflakeModule, and entities
 * with @SnowflakeId() get their IDs from it while it runs.
 */
import { workerEngine } from './engine.js';
import { GeneratorRun, type RunParts } from './generator-run.js';
import type { IdMaker } from './id-maker.js';
import { resolveOptions, type SnowflakeModuleOptions } from './resolve-options.js';
import { RefreshAlive } from './refresh-alive.job.js';

/** The options of SnowflakeModule.forRoot(), and a name for the generator. */
export interface SnowflakeScriptOptions extends SnowflakeModuleOptions {
  /** Entities use this name: `@SnowflakeId({ generator: 'tickets' })`. Default: no name. */
  readonly name?: string | undefined;
}

/** A generator that runs until it is closed. */
export interface RunningSnowflake {
  readonly ids: IdMaker;
  /**
   * Releases the worker ID and closes the connection. It never throws, and further calls are safe.
   * If the store does not answer, it takes at most callTimeoutMs and 1 s; the process stays alive
   * until then.
   */
  close(): Promise<void>;
  /** Closes at the end of the block: `await using snowflake = await startSnowflake(...)`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Leases a worker ID for a script and renews it until `close()`, or until the end of the block with
 * `await using`. Every call leases a separate worker ID. While several generators run in a process,
 * entities take their IDs from the one started last.
 *
 * @param options those of SnowflakeModule; ScheduleModule is not needed
 * @throws SnowflakeError CONFIG_INVALID with every fault in the options; or the reason why no
 * worker ID was available within `startTimeoutMs`. Nothing is left open then.
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
  const engine = workerEngine(config, support, name);
  const refreshAlive = new RefreshAlive(undefined, engine.keeper, config, name);
  return runAlone({ name, support, engine, idMaker: engine.idMaker, refreshAlive });
}

/** Starts a generator outside of an application. */
export async function runAlone(parts: RunParts): Promise<RunningSnowflake> {
  const run = new GeneratorRun(parts);
  await run.start(() => []);
  const close = () => run.stop();
  return { ids: parts.idMaker, close, [Symbol.asyncDispose]: close };
}
