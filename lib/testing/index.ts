/** The entry `nestjs-snowflake/testing`: the contract of a support, settable time, simulation. */
export { SettableTime } from './settable-time.js';
export * from './simulation/index.js';
