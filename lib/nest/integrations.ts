/**
 * What other rooms want done once the lease is held: the ORM room hooks every DataSource it finds.
 *
 * Loading such a room adds its integration here, so that applications import one module only.
 */
import { processWide } from '../process-wide.js';

/** Is passed every provider of an application before other modules' onModuleInit. */
export type Integration = (instances: readonly unknown[]) => void;

const integrations = processWide('integrations', () => new Set<Integration>());

export function addIntegration(integration: Integration): void {
  integrations.add(integration);
}

export function runIntegrations(instances: readonly unknown[]): void {
  for (const integration of integrations) integration(instances);
}
