/**
 * Everything that is configured, from the environment alone, in one place.
 */
export interface Config {
  /** Where the worker id comes from: static:1, or redis://host:6379?namespace=shop. */
  readonly support: string;
  /** A PostgreSQL; without one an embedded database in `dataDir` is used, by one process. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly port: number;
  /** What operators type to see /snowflake; without one, only this host does. */
  readonly operatorPassword: string | undefined;
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  // `||` and not `??`: compose files and CI hand over unset variables as empty ones.
  const port = Number(env['PORT'] || 3000);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`Expected PORT to be an integer from 0 to 65535, got "${env['PORT']}".`);
  }
  return {
    support: env['SNOWFLAKE_SUPPORT'] || 'static:1',
    databaseUrl: env['DATABASE_URL'] || undefined,
    dataDir: env['DATA_DIR'] || '.data/shop',
    port,
    operatorPassword: env['OPERATOR_PASSWORD'] || undefined,
  };
}
