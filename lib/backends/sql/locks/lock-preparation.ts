/**
 * The table of locks that a URL names, for an operator: the statement that creates it, and what
 * runs it.
 */
import type { StorePreparation } from '../../../registry/registry-view.js';
import { parseSqlUrl } from '../connection/sql-url.js';
import { checkedOptions } from '../sql-options.js';
import { SqlSession } from '../sql-session.js';
import { connectionOfUrl, dialectOf } from '../store-of.js';
import { LOCK_TABLE, lockTable } from './lock-table.js';

/** @throws SnowflakeError CONFIG_INVALID */
export function lockPreparationFromUrl(url: string): StorePreparation {
  const parsed = parseSqlUrl(url);
  const { dialect: name, options } = parsed;
  const asked = { ...options, table: options.table ?? LOCK_TABLE };
  const { serverSql, ...checked } = checkedOptions(asked, name !== 'sqlite');
  const text = lockTable(name, checked.table);
  const run = async (): Promise<void> => {
    const reached = { connection: connectionOfUrl(parsed), dialect: dialectOf(name, serverSql) };
    const session = new SqlSession({ ...checked, ...reached, holds: 'locks' });
    try {
      await session.ordered(text);
    } finally {
      await session.close();
    }
  };
  return { text, run };
}
