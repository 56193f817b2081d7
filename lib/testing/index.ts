/** The entry `nestjs-snowflake/testing`: the contract of a support, settable time, simulation. */
export {};
