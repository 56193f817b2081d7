// Words that people search for and that the headings of a page do not have. The search finds the
// page by them: test/docs/search.spec.ts.

/** @type {Readonly<Record<string, string>>} by the path of a page */
export const SAID = {
  'start.md':
    'quick start, setup, tutorial, hello world, first id, ERR_REQUIRE_ESM, ESM, CommonJS, cannot find module',
  'concepts/choosing.md': 'uuid or snowflake, nanoid, ulid, objectid',
  'concepts/clock.md': 'clock skew, clock drift, ntp, time goes backwards, rollback',
  'concepts/comparison.md': 'alternatives, alternative to redlock, benchmark of libraries, versus',
  'concepts/failback.md': 'fail back, switch back, old master, old primary returns',
  'concepts/guarantees.md': 'split-brain, data loss, collision, consistency, CAP, sla',
  'concepts/layout.md': 'bits, epoch, datacenter, timestamp from id, date of an id',
  'concepts/lease.md': 'heartbeat, ttl, machine id',
  'concepts/security.md': 'guess, enumerate, privacy, vulnerability',
  'concepts/why-never-twice.md': 'globally unique, proof of uniqueness, collision free',
  'guides/api-keys.md': 'tokens, authentication, bearer, secret rotation',
  'guides/databases.md':
    'sequelize, mikro-orm, mongoose, mongodb, objection, knex, kysely, pg, mysql2',
  'guides/host.md': 'machine id, node id, hostname, pod ordinal, statefulset, no redis',
  'guides/ids-in-json.md':
    'precision loss, rounded, BigInt serialize, swagger, openapi, frontend, toJSON',
  'guides/locks.md': 'mutex, distributed lock, critical section, leader election, semaphore',
  'guides/moving-a-fleet.md': 'change layout, move to another redis, switch store, zero downtime',
  'guides/moving.md': 'switch from uuid, migrate auto increment, serial, identity column, epoch',
  'guides/one-cron-job.md':
    'cron once, run job once, scheduler, scheduled task, idempotency, @Cron',
  'guides/order-numbers.md': 'invoice number, gapless, consecutive, receipt, sequence per day',
  'guides/partitions.md': 'pagination cursor, keyset, archive, retention, time range',
  'guides/public-ids.md': 'hide ids, obfuscate, hashids, sqids, slug, prefixed id, encrypt',
  'guides/redis.md': 'sentinel, cluster, valkey, ioredis, node-redis, acl',
  'guides/scripts.md': 'seed script, standalone, without nest, one-off',
  'guides/sql.md': 'connection pool, postgres, postgresql, mariadb, sqlite, pgbouncer',
  'guides/testing.md': 'test mock, fake, stub, jest, vitest, e2e',
  'guides/threads.md': 'worker_threads, cluster, multi-core, piscina',
  'guides/typeorm.md': 'primary key, entity, PrimaryColumn, bigint column, BeforeInsert',
  'guides/which-store.md': 'which database, do I need redis, backend',
  'operating/backups.md': 'restore, snapshot, dump, disaster recovery',
  'operating/kubernetes.md':
    'k8s, helm, pod, deployment, readiness probe, graceful shutdown, SIGTERM',
  'operating/managed-redis.md': 'elasticache, memorydb, upstash, azure cache, memorystore',
  'operating/monitoring.md': 'alerts, opentelemetry, grafana, health check, terminus',
  'operating/other-platforms.md': 'serverless, lambda, cloud run, docker compose, swarm, pm2, fly',
  'operating/performance.md': 'latency, overhead, throughput, cost, benchmark, memory, capacity',
  'operating/runbooks.md':
    'troubleshooting, FAQ, outage, incident, redis down, duplicate id, duplicate key, worker id conflict',
  'operating/tls.md': 'ssl, certificate, encrypted connection',
  'operating/upgrading.md': 'semver, breaking changes, deprecated, changelog, rolling upgrade',
  'reference/limits.md': 'maximum, ids per second, how many ids per second, quota, 2093',
  'zh/start.md': '安装、快速开始',
  'zh/concepts/choosing.md': '分布式 ID、雪花算法、趋势递增',
  'zh/concepts/clock.md': '时钟回拨、时钟漂移',
  'zh/concepts/lease.md': '机器号',
  'zh/guides/ids-in-json.md': '前端精度丢失',
  'zh/guides/redis.md': '哨兵、主从切换',
  'zh/operating/performance.md': '性能',
};
