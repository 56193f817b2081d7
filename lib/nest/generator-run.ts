/**
 * Starts one generator (lease, integrations, renewals) and stops it again.
 *
 * Guarantee: if a start fails at any step, no worker ID stays leased, no connection stays open and
 * no timer runs. Nest's hooks (lifecycle.ts) and startSnowflake() call it.
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
  /** The IdMaker of the engine, or its override by overrideProvider(). */
  readonly idMaker: IdMaker;
  /** Undefined without a lease to renew. */
  readonly refreshAlive?: RefreshAlive | undefined;
  /** Undefined if IDs need no worker ID. */
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
    const { name, idMaker, engine, refreshAlive } = this.parts;
    const isFake = isReplaced(this.parts);
    engine.early.begin();
    try {
      if (!isFake) await this.lease();
      if (this.stopping !== undefined) throw stopped();
      addIdMaker(name, idMaker);
      const providers = instances();
      for (const integration of integrations) integration(providers);
      // A fake is right in a test and dangerous in production.
      if (isFake && process.env['NODE_ENV'] === 'production') engine.log.warn(REPLACED);
      if (isFake) return;
      refreshAlive?.start();
      engine.region?.watch();
    } catch (error) {
      await this.stop();
      throw error;
    }
    // Advice is optional: the renewals report an unreachable store.
    engine.advise().catch(() => undefined);
  }

  /** Nest's scheduler ends its jobs before the shutdown is over; renewals continue without it. */
  renewAlone(): void {
    if (this.stopping === undefined) this.parts.refreshAlive?.leaveScheduler();
  }

  /** Never throws: an error on closing is logged. Further calls have no effect. */
  stop(): Promise<void> {
    return (this.stopping ??= this.end());
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
      await (isReplaced(this.parts) ? engine.close() : engine.keeper.stop());
    } catch (error) {
      engine.log.warn(`The support could not be closed: ${errorText(error)}`);
    }
  }
}

/** True if IdMaker is overridden: then no store is needed, and none is contacted. */
export function isReplaced({ idMaker, engine }: Pick<RunParts, 'idMaker' | 'engine'>): boolean {
  return idMaker !== engine.idMaker;
}

/*
 * Other parts add work that runs once the lease is held: the ORM part hooks every DataSource.
 *
 * Importing such a part adds its integration here, so applications import one module only.
 */

/** Receives every provider of an application before other modules' onModuleInit. */
type Integration = (instances: readonly unknown[]) => void;

const integrations = processWide('integrations', () => new Set<Integration>());

export function addIntegration(integration: Integration): void {
  integrations.add(integration);
}
