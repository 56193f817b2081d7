/**
 * What the page knows of worker ids without a list: whether a generator has one, and which is the
 * one of the process that answers.
 */
import type { GeneratorView, LeasedGeneratorView, StateAnswer, WorkerView } from '../answers.js';

/** Without one there is no list of workers to be in. */
export const hasWorkerId = (generator: GeneratorView): generator is LeasedGeneratorView =>
  generator.lease !== undefined;

/** Without a list the page shows what this process knows of itself. */
export function ownWorkers(
  { application, lease }: LeasedGeneratorView,
  { host, pid }: StateAnswer,
): WorkerView[] {
  const { workerId, remainingMs } = lease;
  if (workerId === undefined) return [];
  const state = remainingMs === undefined ? 'fixed' : 'held';
  return [{ workerId, state, holder: { host, pid, application }, remainingMs }];
}
