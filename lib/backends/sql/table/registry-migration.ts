/**
 * The table of the registry as a migration of TypeORM, known by shape.
 *
 * Promise: it creates what `registryTable` says, in the database that the DataSource is for.
 */
import { dialectOfType } from '../connection/data-source.js';
import { TABLE } from '../sql-options.js';
import { registryTable } from './registry-table.js';

/** What is used of a QueryRunner. */
export interface MigrationRunner {
  readonly connection: { readonly options: { readonly type: string } };
  query(sql: string): Promise<unknown>;
}

/**
 * For the option `migrations` of a DataSource; another table needs a migration of your own, with
 * the text of `registryTable`.
 *
 * @example
 * ```ts
 * import { DataSource } from 'typeorm';
 * import { CreateSnowflakeRegistry1767225600000 } from 'nestjs-snowflake/sql';
 *
 * new DataSource({
 *   type: 'postgres',
 *   migrations: [CreateSnowflakeRegistry1767225600000],
 * });
 * ```
 */
export class CreateSnowflakeRegistry1767225600000 {
  /** Its end is the time by which TypeORM orders migrations; stays when code is minified. */
  readonly name = 'CreateSnowflakeRegistry1767225600000';

  async up(runner: MigrationRunner): Promise<void> {
    await runner.query(registryTable(dialectOfType(runner.connection.options.type)));
  }

  /** Counts as a loss of the registry: ids stay unique, and run ahead for a while. */
  async down(runner: MigrationRunner): Promise<void> {
    await runner.query(`DROP TABLE ${TABLE}`);
  }
}
