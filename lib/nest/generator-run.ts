/**
 * Starts one generator (lease, integrations, renewals) and stops it again.
 *
 * Guarantee: a start that fails, at whatever step, leaves no worker ID leased, no connection open
 * and no timer running. Nest's hooks (lifecycle.ts) and startSnowflake() call it.
 */
import type { IDistributedSupport } from '../lease/distributed-support.js';
import { inSnapshot, stopped } from '../lease/lease-texts.js';
import { errorText } from '../messages.js';
import { processWide } from '../process-wide.js';
import type { Engine } from './engine.js';
import { addIdMaker, removeIdMaker, type IdMaker } from './id-maker.js';
import type { RefreshAlive } from './refresh-alive.job.js';

export interface RunParts {
  readonly name: string | undefined;
  readonly engine: Engine;
  /** The IdMaker of the engine, or what overrideProvider() put in its place. */
  readonly idMaker: IdMaker;
  /** It is undefined if there is no lease to renew. */
  readonly refreshAlive?: RefreshAlive | undefined;
  /** It is undefined if IDs are generated without a worker ID. */
  readonly support?: IDistributedSupport | undefined;
}

const REPLACED =
  'IdMaker is overridden, so ids come from a fake although NODE_ENV is production: no worker id ' +
  'is leased and nothing keeps these ids unique. Remove the override of IdMaker.';

export class GeneratorRun {
  private stopping: Promise<void> | undefined;

  constructor(private readonly parts: RunParts) {}

  /** @param instances the providers to pass to integrations; called once the lease is held */
  async start(instances: () => readonly unknown[]): Promise<void> {
    const { name, idMaker, engine } = this.parts;
    engine.early.begin();
    try {
      if (!this.isReplaced) await this.lease();
      if (this.stopping !== undefined) throw stopped();
      addIdMaker(name, idMaker);
      const providers = instances();
      for (const integration of integrations) integration(providers);
      if (this.isReplaced) return this.warnInProduction();
      this.parts.refreshAlive?.start();
      engine.region?.watch();
    } catch (error) {
      await this.stop();
      throw error;
    }
    void this.advise();
  }

  /** Nest's scheduler ends its jobs before the shutdown is over; renewals continue without it. */
  renewAlone(): void {
    if (this.stopping === undefined) this.parts.refreshAlive?.leaveScheduler();
  }

  /** Never fails: an error on closing is logged. May be called again; it runs once. */
  stop(): Promise<void> {
    return (this.stopping ??= this.end());
  }

  private get isReplaced(): boolean {
    return isReplaced(this.parts);
  }

  private async lease(): Promise<void> {
    const { engine } = this.parts;
    if (engine.identity.isSnapshot()) throw inSnapshot();
    if (engine.lazy) return void engine.keeper.refresh();
    await engine.keeper.start();
    await engine.region?.start();
  }

  private async end(): Promise<void> {
    const { engine, idMaker, refreshAlive } = this.parts;
    refreshAlive?.stop();
    removeIdMaker(idMaker);
    try {
      await engine.region?.stop();
      await (this.isReplaced ? engine.close() : engine.keeper.stop());
    } catch (error) {
      engine.log.warn(`The support could not be closed: ${errorText(error)}`);
    }
  }

  /** A fake is right in a test and a disaster in production. */
  private warnInProduction(): void {
    if (process.env['NODE_ENV'] === 'production') this.parts.engine.log.warn(REPLACED);
  }

  /** Logs what the operator should know, once, in the background. */
  private async advise(): Promise<void> {
    try {
      await this.parts.engine.advise();
    } catch {
      // Nothing is lost without advice: if the store cannot be reached, the renewals report it.
    }
  }
}

/** True if IdMaker is overridden: then no store is needed, so none is contacted. */
export function isReplaced({ idMaker, engine }: Pick<RunParts, 'idMaker' | 'engine'>): boolean {
  return idMaker !== engine.idMaker;
}

/*
 * Other rooms add work for the moment when the lease is held: the ORM room hooks every DataSource.
 *
 * Loading such a room adds its integration here, so that applications import one module only.
 */

/** It is passed every provider of an application before other modules' onModuleInit. */
type Integration = (instances: readonly unknown[]) => void;

const integrations = processWide('integrations', () => new Set<Integration>());

export function addIntegration(integration: Integration): void {
  integrations.add(integration);
}
