/**
 * What differs between databases: the statements of the registry and what they answer.
 *
 * Promise: every statement is complete in itself, so that it needs no transaction around it; each
 * that writes carries all that it rests on, and reports whether it was carried out.
 */
import type { KeyedWrite } from '../../../registry/keyed-rows.js';
import type { Finding } from '../../../registry/registry-view.js';
import type { SliceQuestion } from '../../../registry/slice-store.js';
import type { SqlQuery, SqlRow, Statement } from '../sql-query.js';

/** Which SQL a database speaks; MariaDB speaks `mysql`. */
export type DialectName = 'postgres' | 'mysql' | 'sqlite';

/** A row to be written, with all that must still be so. */
export interface RowChange {
  readonly workerId: number;
  /** Rows that are made in the same step, equal but for this. */
  readonly moreWorkerIds?: readonly number[];
  readonly ceilingMs: number;
  readonly token: string | null;
  readonly text: string;
  /** As it was read; undefined where the row was not there. */
  readonly version: number | undefined;
  /** What the ceiling of the header must be, or what it must be below. */
  readonly ceilingIs?: { readonly sign: '=' | '<'; readonly ms: number };
  readonly nextVersion: number;
  /** Of the header, for every row but the header itself. */
  readonly headerVersion: number | undefined;
  readonly server: string;
}

export interface SqlTable {
  /** As it stands in statements; checked, so that it needs no quotes. */
  readonly table: string;
  readonly namespace: string;
  /**
   * What the table holds. A restart of the server counts as a loss for a registry, to which it
   * costs nothing, and for locks, since a server that was set back to an older copy has been
   * restarted; for counters only where it can lose something.
   */
  readonly holds: 'registry' | 'counters' | 'locks';
  /** How old the writes may be that the store loses, as it was told. */
  readonly lossWindowMs: number;
}

/** A row under a name to be written, with all that must still be so. */
export interface KeyedChange extends KeyedWrite {
  readonly nextVersion: number;
}

/** The statements for one table, once it is known what the server offers. */
export interface Statements {
  /** Header, rows asked for, time and server: at least one row, also where nothing is stored. */
  read(question: SliceQuestion): Statement;
  /** Header and leased worker ids above one; up to so many, in their order. */
  page(after: number, rowCount: number): Statement;
  ceilings(min: number, max: number): Statement;
  write(change: RowChange): Statement;
  /** All, or those of these names; with time and server: at least one row. */
  readKeyed(keys?: readonly string[]): Statement;
  writeKeyed(change: KeyedChange): Statement;
  /** Deletes some of the rows whose number is less. */
  sweepKeyed(below: bigint): Statement;
  /** How many rows a write has written. @throws SnowflakeError where they do not count */
  writtenCount(answer: unknown): number;
  /** @throws SnowflakeError where what was read shows that nothing may be written */
  check(row: SqlRow): void;
  /** Whether the server offers something else by now than when these statements were made. */
  isOutdated(row: SqlRow): boolean;
  /** @throws SnowflakeError where it was read from a server that takes no writes */
  checkPrimary(row: SqlRow): void;
}

export interface Dialect {
  readonly name: DialectName;
  /** The product, for messages. */
  readonly title: string;
  /** Asks the server what it offers. */
  prepare(query: SqlQuery, place: SqlTable): Promise<Statements>;
  /** What somebody else changed meanwhile, by the codes of an error. */
  isConflict(codes: readonly string[]): boolean;
  /** What endangers what the table holds, one sentence each. */
  advice(query: SqlQuery, holds: SqlTable['holds']): Promise<string[]>;
  findings(query: SqlQuery, lossWindowMs: number): Promise<Finding[]>;
}
