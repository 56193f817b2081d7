/**
 * Processes in a bad world: the real keeper, seat and generator against the reference registry,
 * with crashes, pauses, outages, clocks that jump and a registry that forgets. No id twice.
 */
import { describe, expect, it } from '@jest/globals';
import type { SeatedRange, WorkerSeat } from '../../lib/core/worker-seat.js';
import { isSnowflakeError } from '../../lib/errors.js';
import type { RegistryState } from '../../lib/backends/memory/index.js';
import { process, World } from './world.js';

/** Park and Miller's generator: one seed decides everything. */
function randomOf(seed: number): () => number {
  let state = seed * 7919 + 1;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

/** What may happen in a step; `start` and `idle` are likelier than the rest. */
const ACTS = [
  'start',
  'start',
  'idle',
  'idle',
  'crash',
  'stop',
  'cut',
  'jump',
  'remember',
  'forget',
  'pause',
] as const;

class BadWorld {
  readonly ids: bigint[] = [];
  /** From the first to the last tick used of each range that was leased. */
  private readonly spans = new Map<
    SeatedRange,
    { workerId: number; first: number; last: number }
  >();
  private readonly world = new World();
  private readonly random: () => number;
  private running: ReturnType<typeof process>[] = [];
  private snapshot: RegistryState | undefined;
  private serverCount = 0;

  constructor(seed: number) {
    this.random = randomOf(seed);
  }

  async run(stepCount: number): Promise<void> {
    for (let step = 0; step < stepCount; step++) {
      if (this.random() < 0.4) this.world.isDown = false;
      await this[this.pick(ACTS)]();
      this.mint();
      if (this.random() < 0.7) for (const { keeper } of this.running) void keeper.refresh();
      await this.world.time.advance(this.upTo(12_000));
      this.mint();
    }
  }

  /** Ranges of one worker id of which both used a tick, or ticks between the other's. */
  overlaps(): string[] {
    const spans = [...this.spans.values()].toSorted((a, b) => a.first - b.first);
    return spans.flatMap((one, at) =>
      spans
        .slice(at + 1)
        .filter((two) => two.workerId === one.workerId && two.first <= one.last)
        .map((two) => `${JSON.stringify(one)} and ${JSON.stringify(two)}`),
    );
  }

  start(): void {
    if (this.running.length >= 5) return;
    const options = { onFreshRegistry: 'runAhead', startTimeoutMs: 5000 } as const;
    const started = process(this.world, options, this.upTo(8000) - 4000);
    this.running.push(started);
    started.keeper.start().catch(() => this.remove(started));
  }

  crash(): void {
    // Nothing is given back; what it still holds is never used again.
    if (this.running.length > 0) this.remove(this.pick(this.running));
  }

  stop(): void {
    if (this.running.length === 0) return;
    const stopped = this.pick(this.running);
    this.remove(stopped);
    void stopped.keeper.stop();
  }

  cut(): void {
    this.world.isDown = true;
  }

  /** The hosts' clocks; the store's must not step back across a loss of its data. */
  jump(): void {
    const byMs = this.upTo(120_000) - 60_000;
    this.world.time.wallMs += byMs;
    this.world.storeAheadMs -= byMs;
  }

  remember(): void {
    this.snapshot = structuredClone(this.world.registry.state);
  }

  /** A restart with nothing, or with an old backup. */
  forget(): void {
    this.world.server = `server ${++this.serverCount}`;
    this.world.registry.state = this.random() < 0.5 ? undefined : structuredClone(this.snapshot);
  }

  async pause(): Promise<void> {
    // All stand still for longer than a lease while the store's time goes on.
    const still = this.running;
    this.running = [];
    await this.world.time.advance(this.upTo(150_000));
    this.running = still;
  }

  idle(): void {}

  private mint(): void {
    for (const { generator, seat } of this.running) {
      try {
        for (let n = this.upTo(20); n > 0; n--) this.note(seat, [generator.nextId()]);
        if (this.random() < 0.05) this.note(seat, generator.nextIds(9000));
      } catch (error) {
        if (!isSnowflakeError(error)) throw error;
      }
    }
  }

  private note(seat: WorkerSeat, ids: bigint[]): void {
    this.ids.push(...ids);
    const range = seat.current!;
    const { workerId } = range;
    const span = this.spans.get(range) ?? { workerId, first: Infinity, last: -Infinity };
    for (const id of [ids[0]!, ids.at(-1)!]) {
      const tick = seat.layout.parse(id).fields['timestamp']!;
      // A batch may have begun in the range before.
      if (seat.layout.parse(id).workerId !== workerId || tick < range.floorTick) continue;
      span.first = Math.min(span.first, tick);
      span.last = Math.max(span.last, tick);
    }
    this.spans.set(range, span);
  }

  private remove(gone: ReturnType<typeof process>): void {
    this.running = this.running.filter((one) => one !== gone);
  }

  private upTo(max: number): number {
    return Math.floor(this.random() * (max + 1));
  }

  private pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)]!;
  }
}

describe('processes in a bad world', () => {
  it.each(Array.from({ length: 60 }, (_, n) => n + 1))(
    'never make an id twice, seed %i',
    async (seed) => {
      const bad = new BadWorld(seed);
      await bad.run(60);
      expect(bad.ids.length).toBeGreaterThan(100);
      expect(new Set(bad.ids).size).toBe(bad.ids.length);
      // Far more sensitive than equal ids: no two leases may even use the same stretch of time.
      expect(bad.overlaps()).toEqual([]);
    },
  );
});
