/** Simulated fleets in a bad world, decided by a seed. */
export { drawnText } from './plan.js';
export { SCENARIOS, type FaultName, type Scenario } from './scenarios.js';
export { simulate, type SimulationOptions, type SimulationReport } from './simulate.js';
export type { StoreCall, StoreEvent } from './simulated-servers.js';
export type { Violation, ViolationKind } from './oracle.js';
