/**
 * From the option `generator` to the generator itself, and what goes with it: no option of a worker
 * id, and a support that has none to give.
 *
 * What is given in place of a generator is never printed: URLs, clients and options hold passwords.
 */
import { generatorOf } from '../backends/schemes.js';
import {
  isGeneratorKind,
  type GeneratorSurroundings,
  type OpenGenerator,
} from '../generator-kind.js';
import { SnowflakeError } from '../errors.js';
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { faultsOf, invalid } from './config-faults.js';

/** All others are of a worker id and its lease. */
const WITH_GENERATOR: readonly string[] = [
  'generator',
  'application',
  'lazy',
  'callTimeoutMs',
  'startTimeoutMs',
  'clock',
  'timers',
];

/** @param given the names of options that are given and known */
export function withGenerator(given: readonly string[]): string[] {
  return given
    .filter((name) => !WITH_GENERATOR.includes(name))
    .map(
      (name) =>
        `\`generator\` and \`${name}\` exclude each other: ids of that generator come without a ` +
        `worker id. Leave \`${name}\` out, or \`generator\`.`,
    );
}

/** Takes the place of a generator with a fault, so that the other options are checked too. */
const UNKNOWN_GENERATOR = {} as unknown as OpenGenerator;

/** @param faults takes what is wrong with it */
export async function givenGenerator(
  given: unknown,
  surroundings: GeneratorSurroundings,
  faults: string[],
): Promise<OpenGenerator> {
  try {
    const kind = typeof given === 'string' ? await generatorOf(given) : given;
    if (isGeneratorKind(kind)) return await kind.open(surroundings);
    throw invalid([
      `Expected \`generator\` to be segments({...}), from nestjs-snowflake/segments, redisIds({` +
        `...}), from nestjs-snowflake/redis, or a URL such as ` +
        `'segments+postgres://app@db/shop?counter=order', got ${typeof given}.`,
    ]);
  } catch (error) {
    faults.push(...faultsOf(error));
    return UNKNOWN_GENERATOR;
  }
}

/** Stands where others inject the support: it closes the generator and leases nothing. */
export function generatorSupport(generator: OpenGenerator): IDistributedSupport {
  const refuse = async (): Promise<never> => {
    throw new SnowflakeError('CONFIG_INVALID', 'This generator has no worker ids to lease.');
  };
  return {
    place: generator.place,
    getNextWorkId: refuse,
    refreshAlive: refuse,
    advice: async () => [...(await generator.advice())],
    close: async () => generator.stop?.(),
  };
}
