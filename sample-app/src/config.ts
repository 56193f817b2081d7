/**
 * The environment, read in one place. An empty variable counts as unset.
 */
const { DATABASE_URL, OPERATOR_PASSWORD, PORT, SNOWFLAKE_SUPPORT } = process.env;

if (DATABASE_URL && !SNOWFLAKE_SUPPORT) {
  throw new Error(
    'Set SNOWFLAKE_SUPPORT as well, for example redis://host:6379?namespace=shop. Other machines ' +
      'may use this database, but they cannot see the worker IDs in a folder of this one.',
  );
}

export const config = {
  port: Number(PORT || 3000),
  /** PostgreSQL. Default: an embedded one, for this process only. */
  databaseUrl: DATABASE_URL || undefined,
  /** Where worker IDs come from. */
  support: SNOWFLAKE_SUPPORT || 'file:.data/snowflake?namespace=shop',
  /** For /snowflake, as the user `operator`. Default: a new one at each start, in the log. */
  operatorPassword: OPERATOR_PASSWORD || undefined,
};
