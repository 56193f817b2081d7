/**
 * A fleet of keepers on stores that fail, hang, lose answers, forget and are flushed, all decided
 * by a seed. What it makes is counted: numbers twice, and steps down within a process.
 */
import { isSnowflakeError } from '../../lib/errors.js';
import { SeededRandom } from '../../lib/testing/seeded-random.js';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { CountingStore } from './counting-store.js';
import { kept } from './kept.js';

export interface Outcome {
  readonly madeCount: number;
  readonly twiceCount: number;
  readonly downCount: number;
  /** Made by a process that had stopped. */
  readonly afterStopCount: number;
}

const SKIP = 4000n;
const STEPS = { stepMin: 10, stepMax: 40, lastsMs: 1000, skip: SKIP };
const PROCESS_COUNT = 4;

type Kept = ReturnType<typeof kept>;

interface Process extends Kept {
  last: bigint;
  isStopped: boolean;
}

export async function simulate(seed: number, storeCount = 1): Promise<Outcome> {
  const random = new SeededRandom(seed);
  const below = (count: number) => Math.floor(random.next() * count);
  const time = new SettableTime();
  const stores = Array.from({ length: storeCount }, (_, at) => new CountingStore(`store ${at}`));
  const seen = new Set<bigint>();
  const made = { count: 0, twice: 0, down: 0, afterStop: 0 };
  // What reached a table: a flush is cured from it, and from nothing else.
  let stored = 0n;
  const startAt = () => stored;
  const begin = (): Process => {
    const process = { ...kept(stores, { ...STEPS, startAt }, time), last: -1n, isStopped: false };
    process.keeper.start().catch(() => undefined);
    return process;
  };
  const processes = Array.from({ length: PROCESS_COUNT }, begin);
  const make = (process: Process, count: number) => {
    for (let at = 0; at < count; at++) {
      try {
        const id = process.generator.nextId();
        made.count++;
        if (seen.has(id)) made.twice++;
        if (id < process.last) made.down++;
        if (process.isStopped) made.afterStop++;
        seen.add(id);
        process.last = id;
        // Not every number is in a table when the store is lost.
        if (id > stored && below(10) === 0) stored = id;
      } catch (error) {
        if (!isSnowflakeError(error)) throw error;
        return;
      }
    }
  };
  const forget = (store: CountingStore) => {
    if (store.next === undefined) return;
    store.next = store.next > 50n ? store.next - BigInt(below(50)) : 0n;
    store.hasForgotten = true;
  };
  /** A second loss with nothing saved since the first begins at one place: beyond the promise. */
  const flush = (store: CountingStore) => {
    const at = (Number(store.lastJump) - 1) * storeCount + 1;
    if (!store.hasForgotten && stored >= BigInt(at)) store.next = undefined;
  };
  const events: ((process: Process, at: number) => unknown)[] = [
    (process) => make(process, below(60)),
    (process) => make(process, below(60)),
    (process) => make(process, below(60)),
    () => stores[below(storeCount)]!.faults.push('hang'),
    () => stores[below(storeCount)]!.faults.push('lose'),
    () => stores[below(storeCount)]!.faults.push('fail'),
    () => stores[below(storeCount)]!.hanging.shift()?.(),
    () => time.advance(below(3000)),
    () => (time.wallMs += below(20_000) - 10_000),
    () => below(5) === 0 && forget(stores[below(storeCount)]!),
    () => below(20) === 0 && flush(stores[below(storeCount)]!),
    async (process, at) => {
      const stopping = process.keeper.stop();
      process.isStopped = true;
      make(process, 5);
      await time.advance(4000);
      await stopping;
      make(process, 5);
      processes[at] = begin();
    },
    // A crash: what it has in hand is lost.
    (_process, at) => void (processes[at] = begin()),
  ];
  for (let step = 0; step < 150; step++) {
    const at = below(PROCESS_COUNT);
    await events[below(events.length)]!(processes[at]!, at);
    await time.advance(below(50));
  }
  await Promise.all(processes.map(({ keeper }) => keeper.stop()).concat(time.advance(10_000)));
  return {
    madeCount: made.count,
    twiceCount: made.twice,
    downCount: storeCount === 1 ? made.down : 0,
    afterStopCount: made.afterStop,
  };
}
