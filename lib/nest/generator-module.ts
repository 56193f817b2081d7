/**
 * The shared parts of the modules without a worker ID: options -> generator -> engine. The
 * generator checks its own options.
 *
 * Guarantee: the start reports all errors at once, and then nothing stays open.
 */
import type { ModulesContainer } from '@nestjs/core';
import type { GeneratorEnvironment, OpenGenerator } from '../generator.js';
import { readOptions } from '../options.js';
import { generatorEngine, type Engine } from './engine.js';
import { buildModule, ENGINE, MODULES, provide, twiceFaults } from './providers.js';
import { applicationName, GENERATOR_OPTIONS, type GeneratorOptions } from './generator-options.js';
import { closeQuietly, invalid, made, noOptions } from './resolve-support.js';
import { runAlone, type RunningSnowflake } from './start-snowflake.js';
import { SNOWFLAKE_OPTIONS } from './tokens.js';

/** Checks the options of a generator and builds it; it generates IDs after its start(). */
export interface GeneratorOpener<Options> {
  /** The required options, for a message. */
  readonly example: string;
  /** @throws SnowflakeError CONFIG_INVALID with every fault in `details.faults` */
  open(options: Options, environment: GeneratorEnvironment): OpenGenerator | Promise<OpenGenerator>;
}

async function openEngine<Options>(
  opener: GeneratorOpener<Options>,
  given: Options & GeneratorOptions,
  name: string | undefined,
  faults: string[] = [],
): Promise<Engine> {
  if (typeof given !== 'object' || given === null) {
    throw invalid([...faults, noOptions(given, opener.example)]);
  }
  const { application, lazy, clock, timers, callTimeoutMs, startTimeoutMs, ...options } = given;
  const own = { application, lazy, clock, timers, callTimeoutMs, startTimeoutMs };
  const read = readOptions(own, GENERATOR_OPTIONS, 'A generator');
  faults.push(...read.faults);
  const environment = { ...read.terms, application: application ?? applicationName() };
  const terms = { ...environment, random: Math.random };
  const generator = await made(() => opener.open(options as unknown as Options, terms), faults);
  if (generator !== undefined && faults.length === 0) {
    return generatorEngine(generator, environment, name);
  }
  await closeQuietly({ close: async () => generator?.stop() });
  throw invalid(faults);
}

/** The base class of a module, with forRoot() and forRootAsync(). */
export function generatorModule<Options, FactoryMethod extends string>(
  opener: GeneratorOpener<Options>,
  factoryMethod: FactoryMethod,
) {
  type Given = Options & GeneratorOptions;
  return buildModule<Given, FactoryMethod>(factoryMethod, (name) => ({
    providers: [
      provide(
        ENGINE,
        (options: Given, modules?: ModulesContainer) =>
          openEngine(opener, options, name, twiceFaults(modules, name)),
        [SNOWFLAKE_OPTIONS, MODULES],
      ),
    ],
  })).ConfigurableModuleClass;
}

/** The same generator without a Nest application. */
export async function startGenerator<Options>(
  opener: GeneratorOpener<Options>,
  given: Options & GeneratorOptions & { readonly name?: string | undefined },
): Promise<RunningSnowflake> {
  const { name, ...options } = given ?? {};
  const isObject = typeof given === 'object' && given !== null;
  const own = (isObject ? options : given) as Options & GeneratorOptions;
  const engine = await openEngine(opener, own, name);
  return runAlone({ name, engine, idMaker: engine.idMaker });
}
