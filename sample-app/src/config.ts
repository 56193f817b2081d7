/**
 * The configuration, read from the environment in one place.
 */
import { dirname, join } from 'node:path';

export interface Config {
  /** Where the worker id comes from: redis://host:6379?namespace=shop, or a folder. */
  readonly support: string;
  /** Where locks are kept: a URL as of `support`; by default the shop's own database. */
  readonly locks: string | undefined;
  /** How often sales are reported: a minute, or a part of one that divides it. */
  readonly reportEveryS: number;
  /** A PostgreSQL; without one an embedded database in `dataDir` is used, by one process. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly port: number;
  /** The address to listen on; by default only this machine can connect. */
  readonly host: string;
  /** What operators type to see /snowflake. */
  readonly operatorPassword: string | undefined;
  /** The secret behind ord_..., as hexadecimal digits; the same in every process, for ever. */
  readonly publicIdKey: string;
}

/** Hides nothing from those who read this file, so that `npm start` alone gets by with it. */
const SAMPLE_KEY = '9f4c1e07b2a8d36515e0c7734ba9f218';

export function readConfig(env: NodeJS.ProcessEnv = process.env): Config {
  // `||` and not `??`: compose files and CI pass unset variables as empty strings.
  const port = Number(env['PORT'] || 3000);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) {
    throw new Error(`Expected PORT to be an integer from 0 to 65535, got "${env['PORT']}".`);
  }
  const reportEveryS = Number(env['REPORT_EVERY_S'] || 60);
  if (!(reportEveryS >= 1 && 60 % reportEveryS === 0)) {
    throw new Error(`Expected REPORT_EVERY_S to divide 60, got "${env['REPORT_EVERY_S']}".`);
  }
  const dataDir = env['DATA_DIR'] || '.data/shop';
  return {
    support: env['SNOWFLAKE_SUPPORT'] || supportOfThisMachine(dataDir, env),
    locks: env['SNOWFLAKE_LOCKS'] || undefined,
    reportEveryS,
    databaseUrl: env['DATABASE_URL'] || undefined,
    dataDir,
    port,
    host: env['HOST'] || '127.0.0.1',
    operatorPassword: env['OPERATOR_PASSWORD'] || undefined,
    publicIdKey: publicIdKeyOf(env),
  };
}

/**
 * On its embedded database the shop leases from a folder, as every process of this machine can that
 * has its own database beside it. A database with an address may serve other machines as well.
 */
function supportOfThisMachine(dataDir: string, env: NodeJS.ProcessEnv): string {
  const folder = encodeURI(join(dirname(dataDir), 'snowflake')).replace(
    /[?#]/g,
    encodeURIComponent,
  );
  if (env['NODE_ENV'] !== 'production' && !env['DATABASE_URL']) {
    return `file:${folder}?namespace=shop`;
  }
  throw new Error(
    'Set SNOWFLAKE_SUPPORT, for example redis://host:6379?namespace=shop. Without one the shop ' +
      'leases worker ids from a folder of this machine, which others do not see, so it starts ' +
      'without one only outside production and on its embedded database.',
  );
}

/**
 * In the environment and not made at the first start: every replica needs the same one, and a data
 * folder that is thrown away must not take the addresses that customers have kept with it.
 */
function publicIdKeyOf(env: NodeJS.ProcessEnv): string {
  const key = env['PUBLIC_ID_KEY'] || SAMPLE_KEY;
  if (env['NODE_ENV'] !== 'production' || key !== SAMPLE_KEY) return key;
  throw new Error(
    'Set PUBLIC_ID_KEY, to what `openssl rand -hex 16` prints, and keep it for ever. The key of ' +
      'the sample is known to all, so in production it is refused.',
  );
}
