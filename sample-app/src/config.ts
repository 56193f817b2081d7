/**
 * The configuration, read from the environment in one place.
 */
export interface Config {
  /** Where the worker id comes from: redis://host:6379?namespace=shop, or static:1. */
  readonly support: string;
  /** A PostgreSQL; without one an embedded database in `dataDir` is used, by one process. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly port: number;
  /** The address to listen on; by default only this machine can connect. */
  readonly host: string;
  /** What operators type to see /snowflake. */
  readonly operatorPassword: string | undefined;
}

export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  // `||` and not `??`: compose files and CI pass unset variables as empty strings.
  const port = Number(env['PORT'] || 3000);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`Expected PORT to be an integer from 0 to 65535, got "${env['PORT']}".`);
  }
  return {
    support: env['SNOWFLAKE_SUPPORT'] || supportOfOneProcess(env),
    databaseUrl: env['DATABASE_URL'] || undefined,
    dataDir: env['DATA_DIR'] || '.data/shop',
    port,
    host: env['HOST'] || '127.0.0.1',
    operatorPassword: env['OPERATOR_PASSWORD'] || undefined,
  };
}

/** A fixed number is right for the only process of an embedded database, and for no other. */
function supportOfOneProcess(env: NodeJS.ProcessEnv): string {
  if (env['NODE_ENV'] !== 'production' && !env['DATABASE_URL']) return 'static:1';
  throw new Error(
    'Set SNOWFLAKE_SUPPORT, for example redis://host:6379?namespace=shop. Without one every ' +
      'process would have worker id 1 and make the same ids, so the shop starts without one ' +
      'only outside production and on its embedded database, which one process uses.',
  );
}
