// Group: what the way through Nest's IdMaker adds to the bare generator.
//
// Guarantee: Nest is loaded in both processes, so that it does not make the difference.
import { ScheduleModule } from '@nestjs/schedule';
import { withApplication } from '../../harness/application.mjs';
import { inTurnsApart } from '../../harness/turns.mjs';
import { figure, median, span, times, bold } from '../../harness/figures.mjs';
import { newGenerator, WORKER_ID } from '../../harness/generators.mjs';
import { importMain } from '../../harness/library.mjs';
import { nsPerCall } from '../timing.mjs';

const BARE = 'SnowflakeGenerator';
const INJECTED = 'IdMaker of a Nest application';

/** More than elsewhere: the two are so near to each other that the noise could hide it. */
const OPTIONS = { samples: 600 };

async function nsThroughNest() {
  const { IdMaker, SnowflakeModule } = await importMain();
  const imports = [ScheduleModule.forRoot(), SnowflakeModule.forRoot({ workerId: WORKER_ID })];
  return withApplication(imports, async (application) => {
    const ids = application.get(IdMaker);
    return nsPerCall(() => ids.nextId(), OPTIONS);
  });
}

function nsOfGenerator() {
  const generator = newGenerator();
  return nsPerCall(() => generator.nextId(), OPTIONS);
}

export async function measure(/** @type {string} */ name) {
  return { ns: name === BARE ? nsOfGenerator() : await nsThroughNest() };
}

async function run(/** @type {import('../../harness/turns.mjs').RunOptions} */ options) {
  const cases = [BARE, INJECTED];
  const byCase = await inTurnsApart({ file: import.meta.url, cases }, options);
  const nsOf = (/** @type {string} */ name) => median(byCase.get(name).map(({ ns }) => ns));
  return cases.map((name) => [
    bold(name),
    figure(nsOf(name)),
    span(byCase.get(name).map(({ ns }) => ns)),
    times(nsOf(name), nsOf(BARE)),
  ]);
}

export const throughNest = {
  title: 'Through Nest',
  explanation:
    'nextId() of the IdMaker that an application injects, against the generator without Nest, ' +
    'both measured as in the first table. ' +
    'The application has the SnowflakeModule with a worker id of its own and the ScheduleModule. ' +
    'The target is at most 1.10 times the bare generator.',
  columns: ['what', 'ns per id', 'min–max', '× bare'],
  run,
};
