/**
 * Locks and counters in a database table: the public functions for each kind of access.
 *
 * Guarantee: the application's pool is used for single statements, never inside its transactions,
 * and is never closed. `close()` closes a connection that was opened for a URL.
 */
import { createHash } from 'node:crypto';
import type { LockStore } from '../../lock/lock-store.js';
import { Releases, type ReleaseMessages, type ReleaseNotifier } from '../../lock/releases.js';
import { RowLocks } from '../../lock/row-locks.js';
import { OneAtATime } from '../../time/line.js';
import { RetryDelay, systemTimers, withinLimit, type TimerHandle } from '../../time/timers.js';
import type { DialectName, SqlTable } from './dialects/dialect.js';
import { givenDatabase, type GivenDatabase } from './given-database.js';
import { STATEMENT_MS_MAX, type ListeningClient, type SqlConnection } from './sql-connection.js';
import {
  checkedOptions,
  misconfigured,
  type SqlRegistryOptions,
  parseSqlUrl,
} from './sql-options.js';
import { SqlRows } from './sql-rows.js';
import { connectionOfUrl, dialectOf, storeOf, storeOfUrl } from './sql.support.js';
import { RowCounters } from '../../counters/row-counters.js';

/** A URL with all options, or the application's own database object. */
export type LockDatabase = (GivenDatabase & SqlRegistryOptions) | { readonly url: string };

/**
 * Locks in PostgreSQL, MySQL, MariaDB or SQLite. `registryTable` or a migration creates the table.
 *
 * @throws SnowflakeError CONFIG_INVALID for invalid options.
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { sqlLocks } from 'nestjs-snowflake/sql';
 *
 * const pool = new Pool({ host: 'localhost', database: 'shop' });
 * const store = sqlLocks({ pool, dialect: 'postgres', namespace: 'shop' });
 * ```
 */
export function sqlLocks(options: LockDatabase): LockStore {
  if (!isUrl(options)) {
    const { dialect, connection } = givenDatabase(options);
    return locksOf(dialect, connection, options);
  }
  const { url, ...more } = options;
  if (typeof url !== 'string') throw misconfigured([`Expected \`url\` to be text.`]);
  const [name] = Object.keys(more);
  if (name === undefined) return locksFromUrl(url);
  throw misconfigured([`Expected all options to be in the URL, got \`${name}\` next to it.`]);
}

function isUrl(options: LockDatabase): options is { readonly url: string } {
  return Object.hasOwn(Object(options), 'url');
}

/** The locks of a URL, e.g. postgres://app@db/shop?namespace=shop. */
export function locksFromUrl(url: string): LockStore {
  const parsed = parseSqlUrl(url);
  return locksOf(parsed.dialect, connectionOfUrl(parsed), parsed.options);
}

function locksOf(
  name: DialectName,
  connection: SqlConnection,
  options: SqlRegistryOptions,
): LockStore {
  const { serverSql, ...checked } = checkedOptions(options, name !== 'sqlite');
  const dialect = dialectOf(name, serverSql);
  const rows = new SqlRows({ ...checked, connection, dialect, kind: 'locks' });
  // A user of `serverSql` may have a pooler, which does not forward messages.
  const hasMessages = name === 'postgres' && serverSql === undefined;
  if (!hasMessages) return new RowLocks(rows);
  const told = (text: string) => rows.noteTold(text);
  return new RowLocks(rows, { releases: postgresReleases(connection, checked, told) });
}

/*
 * Announces released locks in PostgreSQL, on a channel for each lock. The releasing process uses
 * NOTIFY, and waiting processes use LISTEN if a connection is available for it.
 *
 * Guarantee: nothing depends on a message; without one, callers poll.
 */

/** The name of a channel has at most 63 characters. */
const DIGEST_LENGTH = 40;
/** The prefix of a loss message; that of a release is JSON. */
const LOST = 'lost:';
/** No process depends on this message, so a crash may lose it. */
const TELL_LOST = `SELECT pg_notify($1, $2) FROM set_config('synchronous_commit', 'off', true)`;

function postgresReleases(
  connection: SqlConnection,
  { table, namespace }: Pick<SqlTable, 'table' | 'namespace'>,
  told: SqlRows['noteTold'],
): ReleaseNotifier {
  const channelOf = (lock: string) => {
    const digest = createHash('sha256').update([table, namespace, lock].join(' ')).digest('hex');
    return `snowflake_${digest.slice(0, DIGEST_LENGTH)}`;
  };
  const { query, listen } = connection;
  const notify = async (lock: string) => {
    await query(`SELECT pg_notify($1, '')`, [channelOf(lock)]);
  };
  // PostgreSQL commits transactions with NOTIFY one after another. A release is acknowledged before
  // it is on disk, so it delays the others only briefly.
  if (listen === undefined) return { notify, channelOf };
  const releases = new Releases(new PostgresMessages(listen, told));
  return {
    notify,
    channelOf,
    until: (lock, signal, isFree) => releases.until(channelOf(lock), signal, isFree),
    lost: (lock) => {
      const channel = channelOf(lock);
      releases.lost(channel, (who) => query(TELL_LOST, [channel, LOST + who]));
    },
    close: () => releases.close(),
  };
}

/*
 * Messages of PostgreSQL, by LISTEN and NOTIFY, over a separate connection that is open while a
 * caller waits for a lock.
 *
 * Guarantee: no connection is taken from a pool, and none stays open without a waiting caller.
 */

/** The average delay before a failed connection is tried again; it grows with each failure. */
const RETRY_MS = { first: 4000, last: 60_000 };

/**
 * Exists from the first caller to the last, or to the next try if no connection could be opened.
 */
interface Listening {
  readonly client: Promise<ListeningClient>;
  readonly channels: Set<string>;
  again?: TimerHandle;
}

class PostgresMessages implements ReleaseMessages {
  readonly #open: () => Promise<ListeningClient>;
  readonly #told: SqlRows['noteTold'];
  readonly #retry = new RetryDelay(Math.random, RETRY_MS.first, RETRY_MS.last);
  /** The statements on each connection. */
  readonly #turns = new OneAtATime<Listening>();
  #message: (channel: string, isNews?: () => boolean) => void = () => undefined;
  #ended: () => void = () => undefined;
  #lost: (channel: string, who: string) => void = () => undefined;
  #listening: Listening | undefined;

  /** @param told receives the text about a row that its writer sent */
  constructor(open: () => Promise<ListeningClient>, told: SqlRows['noteTold']) {
    [this.#open, this.#told] = [open, told];
  }

  onMessage(...[message, ended, lost]: Parameters<ReleaseMessages['onMessage']>): void {
    [this.#message, this.#ended, this.#lost] = [message, ended, lost];
  }

  async subscribe(channel: string): Promise<void> {
    const listening = (this.#listening ??= this.#begin());
    listening.channels.add(channel);
    await this.#send(listening, `LISTEN ${channel}`);
  }

  async unsubscribe(channel: string): Promise<void> {
    const listening = this.#listening;
    if (listening?.channels.delete(channel) !== true) return;
    if (listening.channels.size === 0) this.#end(listening);
    else await this.#send(listening, `UNLISTEN ${channel}`);
  }

  async close(): Promise<void> {
    if (this.#listening !== undefined) this.#end(this.#listening);
  }

  #begin(): Listening {
    const client = this.#open();
    const listening: Listening = { client, channels: new Set() };
    const opened = (one: ListeningClient) => {
      this.#retry.reset();
      const message = (channel: string, text = '') => {
        if (text.startsWith(LOST)) this.#lost(channel, text.slice(LOST.length));
        else this.#message(channel, text === '' ? undefined : this.#told(text));
      };
      one.onMessage(message, () => this.#missed(listening));
    };
    // Until then, callers learn at once that no message will come.
    const again = () => this.#end(listening);
    const failed = () => {
      if (this.#listening !== listening) return;
      listening.again = systemTimers.every(this.#retry.next(), again);
    };
    client.then(opened, failed);
    return listening;
  }

  /**
   * A statement that times out ends the connection, so that no other waits behind it.
   */
  async #send(listening: Listening, sql: string): Promise<void> {
    const over = (): never => {
      this.#missed(listening);
      throw new Error(`PostgreSQL did not answer ${sql}.`);
    };
    const limit = { ms: STATEMENT_MS_MAX, timers: systemTimers, over };
    await this.#turns.run(listening, async () =>
      withinLimit((await listening.client).query(sql, []), limit),
    );
  }

  #missed(listening: Listening): void {
    if (this.#listening !== listening) return;
    this.#end(listening);
    this.#ended();
  }

  #end(listening: Listening): void {
    systemTimers.cancel(listening.again);
    if (this.#listening === listening) this.#listening = undefined;
    // A connection that was never open has no end.
    listening.client.then((opened) => opened.destroy()).catch(() => undefined);
  }
}

/*
 * Counters in a database table: the public functions for each kind of access.
 *
 * Guarantee: the application's pool is used for single statements, never inside its transactions,
 * and is never closed.
 */

/**
 * Counters in PostgreSQL, MySQL, MariaDB or SQLite, for segments and series. `registryTable` or a
 * migration creates the table.
 *
 * @throws SnowflakeError CONFIG_INVALID for invalid options.
 * @example
 * ```ts
 * import { Pool } from 'pg';
 * import { sqlCounters } from 'nestjs-snowflake/sql';
 *
 * const pool = new Pool({ host: 'localhost', database: 'shop' });
 * const store = sqlCounters({ pool, dialect: 'postgres', namespace: 'shop' });
 * await store.create!({ counter: 'order', start: 1n });
 * await store.take({ kind: 'dense', counter: 'order', count: 1000n, have: 0n, lossGap: 100_000n });
 * ```
 */
export function sqlCounters(options: GivenDatabase & SqlRegistryOptions): RowCounters {
  const { dialect, connection } = givenDatabase(options);
  return new RowCounters(storeOf(dialect, connection, options, 'counters'));
}

/** The counters of a URL, e.g. postgres://app@db/shop?namespace=shop. */
export function countersFromUrl(url: string): RowCounters {
  return new RowCounters(storeOfUrl(url, 'counters'));
}
