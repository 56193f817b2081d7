/**
 * A registry in Redis, opened for an operator.
 *
 * Guarantee: a read-only script reads the registry, and only the operations of the support change
 * it. The connection is closed.
 */
import { RIGHTS_TRIED, RowInspector } from '../../registry/row-inspector.js';
import { finding, type Finding, type RegistryInspector } from '../../registry/snapshot.js';
import type { LibraryLabel, RedisLocation } from './clients/redis-client.js';
import type { RedisConnection } from './redis-connection.js';
import { counterPage } from './redis-counters.js';
import { BELIEVED, BELIEVED_LATER } from './redis-options.js';
import { RedisRows } from './redis-rows.js';
import { checkedParts, supportOptionsOfUrl } from './redis.support.js';
import { SCRIPTS } from './scripts.generated.js';

/** The registry of a URL. @throws SnowflakeError CONFIG_INVALID */
export function inspectorFromUrl(url: string): RegistryInspector {
  return new RedisInspector(url);
}

class RedisInspector extends RowInspector {
  readonly #connection: RedisConnection;
  readonly #rows: RedisRows;

  constructor(url: string) {
    const parts = checkedParts(supportOptionsOfUrl(url));
    const rows = new RedisRows(parts);
    super(rows, parts.connection.where, parts.key);
    [this.#connection, this.#rows] = [parts.connection, rows];
  }

  override async findings(): Promise<Finding[]> {
    const connection = this.#connection;
    // The advice reports a missing permission.
    const infoAsked = connection.info('default').catch(() => '');
    // A key without read permission gives no findings.
    const counted = this.#hasCounters().catch(() => false);
    // Redis reports the user's rights, because no script should run a command only to test it.
    const rightsAsked = connection.run(SCRIPTS.rights, this.key, []);
    const asked = [this.#rows.advice(), infoAsked, counted, rightsAsked] as const;
    const [advice, info, hasCounters, rights] = await Promise.all(asked);
    const reported = [...info.matchAll(/^(\w+):(.*)$/gm)].map(([, name, value]) => [name!, value]);
    const lines: Lines = Object.fromEntries(reported);
    const { kind, library } = connection;
    return [
      ...versionFindings(lines, library),
      ...replicationFindings(lines, { kind, lossWindowMs: this.lossWindowMs }),
      ...advice.map((text) =>
        finding([BELIEVED, BELIEVED_LATER].includes(text) ? 'ok' : 'warning', 'settings', text),
      ),
      ...memoryFindings(lines),
      ...persistenceFindings(lines, hasCounters),
      rightsFinding(rights.map(String)),
    ];
  }

  lastFault(): Error | undefined {
    return this.#connection.lastFault;
  }

  /** The counters of the same namespace. */
  async #hasCounters(): Promise<boolean> {
    const key = this.key.replace(/:registry$/, ':counters');
    const reply = await this.#connection.run(SCRIPTS.counters, key, ['0']);
    return counterPage(reply).records.length > 0;
  }
}

function rightsFinding([known, ...refused]: readonly string[]): Finding {
  if (known === 'unknown') {
    const text = 'Whether this user may write was not tried: Redis tells it from version 7 on.';
    return finding('note', 'rights', text);
  }
  if (refused.length === 0) return finding('ok', 'rights', RIGHTS_TRIED);
  const text =
    `This user may not run ${refused.join(' and ')} on the registry, so no worker id can be ` +
    `leased or renewed. Allow it by ACL SETUSER.`;
  return finding('fault', 'rights', text);
}

/*
 * Finds facts about a Redis server that affect its leases: the consequence for IDs, and the remedy.
 * Pure; a fact that the server does not report is not judged.
 */

/** The lines of INFO by name; none without the permission. */
type Lines = Readonly<Record<string, string | undefined>>;

/** From this version on, scripts may read the clock and write. */
const MAJOR_MIN = 5;
/** Above this share of maxmemory, Redis may reject the next writes. */
const MEMORY_SHARE_MAX = 0.9;

function versionFindings(lines: Lines, library: LibraryLabel | undefined): Finding[] {
  const version = lines['redis_version'];
  if (version === undefined) return [];
  // Valkey also reports its compatible Redis version.
  const valkey = lines['valkey_version'];
  const server = valkey === undefined ? `Redis ${version}` : `Valkey ${valkey}`;
  if (Number(version.split('.')[0]) >= MAJOR_MIN) {
    return [finding('ok', 'version', `${server}, asked by the package ${library}.`)];
  }
  const text = `${server} cannot run the scripts of the registry. Use 5 or later.`;
  return [finding('fault', 'version', text)];
}

function replicationFindings(
  lines: Lines,
  { kind, lossWindowMs }: Pick<RedisLocation, 'kind'> & { readonly lossWindowMs: number },
): Finding[] {
  const found: Finding[] = [];
  // In a cluster, any node replies to INFO, perhaps another one than the registry's.
  if (lines['role'] === 'slave' && kind !== 'cluster') {
    const text =
      'This server is a replica and takes no writes: no worker id can be leased. Name the ' +
      'master, or use redis+sentinel:// or redis+cluster://.';
    found.push(finding('fault', 'replication', text));
  }
  if (kind !== 'standalone' || lossWindowMs > 0) return found;
  const isCluster = lines['cluster_enabled'] === '1';
  if (isCluster || Number(lines['connected_slaves'] ?? 0) > 0) {
    const seen = isCluster ? 'is a node of a cluster' : 'has replicas';
    const text =
      `This server ${seen}, but the URL names a single Redis. If another server can take its ` +
      `place, ids could be made twice while the old one still answers: use redis+sentinel:// ` +
      `or redis+cluster://, or add failoverWindowMs=15000&clockDifferenceMs=1000 in every process.`;
    found.push(finding('warning', 'replication', text));
  }
  return found;
}

function memoryFindings(lines: Lines): Finding[] {
  const [used, most] = [Number(lines['used_memory']), Number(lines['maxmemory'])];
  if (!(most > 0 && used > most * MEMORY_SHARE_MAX)) return [];
  const text =
    `${Math.round((100 * used) / most)} % of maxmemory is used. If Redis is full, it renews no ` +
    `lease, and each process generates ids only until its range ends.`;
  return [finding('warning', 'memory', text)];
}

function persistenceFindings(lines: Lines, hasCounters: boolean): Finding[] {
  const found: Finding[] = [];
  if (lines['loading'] === '1') {
    found.push(finding('fault', 'persistence', 'The server is still loading its data.'));
  }
  const failing = [
    ...(lines['aof_last_write_status'] === 'err' ? ['the last write of the append-only file'] : []),
    ...(lines['rdb_last_bgsave_status'] === 'err' ? ['the last save'] : []),
  ];
  if (failing.length > 0) {
    const text =
      `Redis failed at ${failing.join(' and ')}. A Redis that cannot save may refuse all writes, ` +
      `renewals included. See its log and its disk.`;
    found.push(finding('warning', 'persistence', text));
  }
  if (lines['aof_enabled'] === undefined || found.length > 0) return found;
  if (hasCounters && lines['aof_enabled'] === '0') {
    const lost =
      `The append-only file is off, and this namespace has counters: a restart loses what was ` +
      `granted since the last save, however much. Set appendonly yes.`;
    return [finding('warning', 'persistence', lost)];
  }
  const text =
    `Append-only file ${lines['aof_enabled'] === '1' ? 'on' : 'off'}. Unique ids need no ` +
    `persistence: every restart counts as a loss, and ids then run ahead for up to one ttl.`;
  return [finding('ok', 'persistence', text)];
}
