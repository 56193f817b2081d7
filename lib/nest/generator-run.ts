/**
 * The life of one generator: lease, integrations, renewals; and at the end all of it undone.
 *
 * Promise: a start that fails, wherever it fails, leaves no worker id, connection or timer behind.
 * Nest's hooks (lifecycle.ts) and startSnowflake() decide when.
 */
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { inSnapshot, stopped } from '../lease/lease-texts.js';
import { addIdMaker, removeIdMaker } from './current-id-makers.js';
import type { Engine } from './engine.js';
import type { IdMaker } from './id-maker.js';
import { runIntegrations } from './integrations.js';
import type { SnowflakeConfig } from './options.js';
import type { RefreshAlive } from './refresh-alive.job.js';

export interface RunParts {
  readonly name: string | undefined;
  readonly config: SnowflakeConfig;
  readonly support: IDistributedSupport;
  readonly engine: Engine;
  /** The engine's, or what a test put in its place. */
  readonly idMaker: IdMaker;
  readonly refreshAlive: RefreshAlive;
}

export class GeneratorRun {
  private ending: Promise<void> | undefined;

  constructor(private readonly parts: RunParts) {}

  /** @param instances what integrations look through; asked for once the lease is held */
  async start(instances: () => readonly unknown[]): Promise<void> {
    const { name, idMaker } = this.parts;
    try {
      if (!this.isReplaced) await this.lease();
      if (this.ending !== undefined) throw stopped();
      addIdMaker(name, idMaker);
      runIntegrations(instances());
      if (this.isReplaced) return;
      this.parts.refreshAlive.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
    void this.advise();
  }

  /** The scheduler ends its jobs before the application has ended: renewals go on without it. */
  renewAlone(): void {
    if (this.ending === undefined) this.parts.refreshAlive.leaveScheduler();
  }

  /** Never fails: what could not be closed is logged. Once, however often it is called. */
  stop(): Promise<void> {
    return (this.ending ??= this.end());
  }

  /** True where a test overrides IdMaker alone: then no store is needed, so none is touched. */
  private get isReplaced(): boolean {
    return this.parts.idMaker !== this.parts.engine.idMaker;
  }

  private async lease(): Promise<void> {
    const { config, engine } = this.parts;
    if (engine.holder.isSnapshot()) throw inSnapshot();
    if (config.lazy) void engine.keeper.refresh();
    else await engine.keeper.start();
  }

  private async end(): Promise<void> {
    const { engine, idMaker, refreshAlive, support } = this.parts;
    refreshAlive.stop();
    removeIdMaker(idMaker);
    try {
      await (this.isReplaced ? support.close?.() : engine.keeper.stop());
    } catch (error) {
      engine.log.warn(`The support could not be closed: ${messageOf(error)}`);
    }
  }

  /** What the operator should know, once, in the background. */
  private async advise(): Promise<void> {
    const { config, support, engine } = this.parts;
    try {
      const warning = config.layout.warningAt(config.clock.now());
      if (warning !== undefined) engine.log.warn(warning);
      const advice: unknown = await support.advice?.();
      if (Array.isArray(advice)) for (const text of advice) engine.log.warn(String(text));
    } catch {
      // Advice that cannot be had is no reason to disturb anybody: the renewals report the store.
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
