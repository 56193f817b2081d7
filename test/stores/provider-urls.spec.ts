/**
 * Every form of URL in the manuals of providers, drivers and libpq. It is accepted, or refused with
 * the name of the parameter and the reason. Hosts and passwords are replaced, and the form is the
 * provider's.
 */
import { describe, expect, it } from '@jest/globals';
import { isSnowflakeError } from '../../lib/errors.js';
import { parseRedisUrl } from '../../lib/stores/redis/redis-url.js';
import { supportOptionsOfUrl } from '../../lib/stores/redis/redis.support.js';
import { parseSqlUrl } from '../../lib/stores/sql/sql-options.js';
import { kindOf } from '../../lib/url-schemes.js';

const PRISMA = 'postgresql://johndoe:hunter2@localhost:5432/mydb';

const TAKEN: readonly (readonly [whose: string, url: string, parts: object])[] = [
  [
    'Neon',
    'postgresql://alex:hunter2@ep-cool-1.us-east-2.aws.neon.tech/db?sslmode=require&channel_binding=require',
    { database: 'db', tls: 'checked', bindsChannel: true },
  ],
  [
    'Neon with a pooler for Prisma',
    'postgresql://alex:hunter2@ep-cool-1-pooler.aws.neon.tech/db?sslmode=require&pgbouncer=true&connect_timeout=15&pool_timeout=15',
    { tls: 'checked', bindsChannel: false },
  ],
  [
    'Supabase, direct',
    'postgresql://postgres:hunter2@db.abcdefgh.supabase.co:5432/postgres',
    { tls: 'off', host: 'db.abcdefgh.supabase.co' },
  ],
  [
    'Supabase, pooler',
    'postgres://postgres.abcdefgh:hunter2@aws-0-eu-central-1.pooler.supabase.com:6543/postgres?pgbouncer=true&connection_limit=1',
    { user: 'postgres.abcdefgh', port: 6543 },
  ],
  [
    'Supabase by Vercel',
    'postgres://postgres.ab:hunter2@aws-0.pooler.supabase.com:6543/postgres?sslmode=require&supa=base-pooler.x',
    { tls: 'checked' },
  ],
  [
    'PlanetScale for PostgreSQL',
    'postgresql://user:hunter2@eu-west-2.pg.psdb.cloud:5432/postgres?sslmode=verify-full&sslrootcert=system',
    { tls: 'checked' },
  ],
  [
    'PlanetScale for Prisma',
    'mysql://user:hunter2@aws.connect.psdb.cloud/db?sslaccept=strict',
    { tls: 'checked' },
  ],
  [
    'PlanetScale for Node',
    'mysql://user:hunter2@aws.connect.psdb.cloud/db?ssl={"rejectUnauthorized":true}',
    { tls: 'checked' },
  ],
  ['RDS', 'postgres://u:hunter2@db.abc.eu-west-1.rds.amazonaws.com:5432/postgres', { port: 5432 }],
  ['RDS', 'mysql://admin:hunter2@db.abc.eu-west-1.rds.amazonaws.com:3306/shop', { port: 3306 }],
  [
    'Aiven',
    'postgres://avnadmin:hunter2@pg-1-acme.a.aivencloud.com:12691/defaultdb?sslmode=require',
    { tls: 'checked' },
  ],
  [
    'Aiven',
    'mysql://avnadmin:hunter2@mysql-1-acme.a.aivencloud.com:12691/defaultdb?ssl-mode=REQUIRED',
    { tls: 'checked' },
  ],
  ['Aiven', 'rediss://default:hunter2@valkey-1-acme.a.aivencloud.com:12692', { isTls: true }],
  ['Aiven', 'valkeys://default:hunter2@valkey-1-acme.a.aivencloud.com:12692', { isTls: true }],
  ['Railway', 'postgresql://postgres:hunter2@postgres.railway.internal:5432/railway', {}],
  ['Railway', 'mysql://root:hunter2@monorail.proxy.rlwy.net:41234/railway', {}],
  ['Railway', 'redis://default:hunter2@redis.railway.internal:6379?family=0', { db: 0 }],
  ['Heroku', 'postgres://u:hunter2@ec2-1-2-3-4.compute-1.amazonaws.com:5432/d1', {}],
  ['Heroku', 'rediss://:hunter2@ec2-1-2-3-4.compute-1.amazonaws.com:8130', { isTls: true }],
  ['Upstash', 'rediss://default:hunter2@eu1-cool-1.upstash.io:6379', { isTls: true }],
  ['Redis Cloud', 'redis://default:hunter2@redis-12345.c1.cloud.redislabs.com:12345', {}],
  ['ElastiCache', 'rediss://master.x.abc.euw1.cache.amazonaws.com:6379', { kind: 'standalone' }],
  ['ElastiCache', 'rediss+cluster://clustercfg.x.cache.amazonaws.com:6379', { kind: 'cluster' }],
  ['Azure', 'rediss://:hunter2+key=@acme.redis.cache.windows.net:6380', { isTls: true }],
  [
    'Azure',
    'postgres://u%40acme:hunter2@acme.postgres.database.azure.com/postgres?sslmode=require',
    { user: 'u@acme' },
  ],
  ['Azure', 'mysql://u:hunter2@acme.mysql.database.azure.com:3306/shop?ssl=true', {}],
  ['Prisma', `${PRISMA}?connection_limit=5&pool_timeout=2&socket_timeout=3`, {}],
  ['Prisma', `${PRISMA}?sslaccept=accept_invalid_certs`, { tls: 'unchecked' }],
  ['mysql2', 'mysql://u:hunter2@h/d?charset=utf8mb4&timezone=Z&connectTimeout=5000', {}],
  [
    'pg, as its warning asks',
    'postgresql://u:hunter2@h/d?uselibpqcompat=true&sslmode=require',
    { tls: 'checked' },
  ],
  ['ioredis', 'redis://u:hunter2@h:6380/4?allowUsernameInURI=true', { username: 'u', db: 4 }],
  ['DigitalOcean', 'rediss://default:hunter2@db-1.ondigitalocean.com:25061', { isTls: true }],
  ['Cockroach', 'postgresql://u:hunter2@a.cockroachlabs.cloud:26257/d?sslmode=verify-full', {}],
  ['libpq', 'postgresql://user:hunter2@localhost/mydb', {}],
  ['libpq', 'postgresql://localhost/db?connect_timeout=10&application_name=myapp', {}],
  ['libpq', 'postgresql://[2001:db8::1234]/database', { host: '2001:db8::1234' }],
  ['libpq', 'postgresql://localhost/db?sslmode=verify-ca', { tls: 'checked' }],
];

const REFUSED: readonly (readonly [whose: string, url: string, ...faults: string[]])[] = [
  ['Prisma', `${PRISMA}?schema=public`, 'its schema', '`table=schema.snowflake_registry`'],
  ['Prisma', `${PRISMA}?sslidentity=a.p12&sslpassword=x`, 'its sslidentity', 'its sslpassword'],
  ['Neon, old', 'postgres://u@h/d?options=endpoint%3Dep-1', 'its options changes the session'],
  ['Cloud SQL', 'postgresql://u@localhost/d?host=/cloudsql/p:r:i', 'its host', 'pass a pool'],
  ['Aiven', 'mysql://u@h/d?ssl-mode=PREFERRED', 'its ssl-mode is none of DISABLED, REQUIRED'],
  ['mysql2', 'mysql://u@h/d?ssl={}', 'its ssl is none of false, true'],
  ['libpq', 'postgresql://', 'its host number 1', 'it names no database'],
  ['libpq', 'postgresql://localhost', 'it names no database'],
  ['libpq', 'postgresql:///mydb?host=localhost&port=5433', 'its host belongs', 'its port belongs'],
  ['libpq', 'postgresql://%2Fvar%2Flib%2Fpostgresql/dbname', 'its host number 1'],
  [
    'libpq',
    'postgresql://host1:123,host2:456/somedb?target_session_attrs=any&application_name=myapp',
    'it names several hosts, and only one is asked',
    'its target_session_attrs chooses among several hosts',
  ],
  ['libpq', 'postgresql://h/d?options=-c%20synchronous_commit%3Doff', 'its options changes'],
  ['libpq', 'postgresql://h/d?sslmode=prefer', 'its sslmode is none of disable, no-verify'],
  ['libpq', 'postgresql://h/d?sslcert=a&sslkey=b', 'its sslcert', 'its sslkey', 'pass a pool'],
  ['libpq', 'postgresql://h/d?channel_binding=require', 'its channel_binding needs TLS'],
  ['two minds', 'mysql://h/d?sslmode=disable&sslaccept=strict', 'contradict each other'],
  ['Celery', 'rediss://:hunter2@h:6379/0?ssl_cert_reqs=none', '"ssl_cert_reqs" is not known'],
  ['go-redis', 'redis://h:6379?db=2&protocol=3', '"db" is not known', '"protocol" is not known'],
  ['two hosts', 'redis://a:6379,b:6379', 'it names several hosts; write redis+sentinel:// or'],
];

/** Of the manual of libpq 18, of mysql2, and of clients of Redis: names are no secret. */
const PARAMETERS: Readonly<Record<string, string>> = {
  postgresql:
    'host hostaddr port dbname user password passfile require_auth channel_binding ' +
    'connect_timeout client_encoding options application_name fallback_application_name ' +
    'keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout replication ' +
    'gssencmode sslmode requiressl sslnegotiation sslcompression sslcert sslkey sslkeylogfile ' +
    'sslpassword sslcertmode sslrootcert sslcrl sslcrldir sslsni requirepeer ' +
    'ssl_min_protocol_version ssl_max_protocol_version min_protocol_version max_protocol_version ' +
    'krbsrvname gsslib gssdelegation scram_client_key scram_server_key service servicefile ' +
    'target_session_attrs load_balance_hosts oauth_issuer oauth_client_id oauth_client_secret ' +
    'oauth_scope statement_timeout query_timeout lock_timeout idle_in_transaction_session_timeout',
  mysql:
    'user password flags multipleStatements connectionLimit waitForConnections queueLimit ' +
    'supportBigNumbers bigNumberStrings dateStrings enableKeepAlive socketPath ssl ssl-ca ssl-cert ' +
    'ssl-key ssl-mode tls allowPublicKeyRetrieval compress collation charset sql_mode timezone',
  redis:
    'db protocol family username password keyPrefix connectTimeout maxRetriesPerRequest ' +
    'lazyConnect tls ssl_cert_reqs ssl_ca_certs ssl_check_hostname retry_on_timeout ' +
    'health_check_interval client_name addr dial_timeout read_timeout write_timeout pool_size ' +
    'socket_timeout socket_connect_timeout max_connections decode_responses allowUsernameInURI',
};

const read = (url: string) =>
  kindOf(url) === 'redis' ? supportOptionsOfUrl(url) : parseSqlUrl(url);

function faultOf(url: string): string {
  try {
    read(url);
  } catch (error) {
    if (isSnowflakeError(error) && error.code === 'CONFIG_INVALID') return error.message;
    throw error;
  }
  return 'taken';
}

describe("a URL from a provider's console", () => {
  it.each(TAKEN)('%s is accepted: %s', (_, url, parts) => {
    expect(faultOf(url)).toBe('taken');
    const parsed = kindOf(url) === 'redis' ? parseRedisUrl(url) : parseSqlUrl(url);
    expect(parsed).toMatchObject(parts);
  });

  it.each(REFUSED)('%s is refused with the reason: %s', (_, url, ...faults) => {
    const message = faultOf(url);
    for (const fault of faults) expect(message).toContain(fault);
    expect(message).not.toContain('hunter2');
  });

  it.each(Object.entries(PARAMETERS))('names each rejected parameter of %s', (kind, all) => {
    const hidden = all.split(' ').filter((name) => {
      const fault = faultOf(`${kind}://u@h/0?${name}=hunter2`);
      expect(fault).not.toContain('hunter2');
      return fault !== 'taken' && !fault.includes(`its ${name} `) && !fault.includes(`"${name}"`);
    });
    expect(hidden).toEqual([]);
  });
});
