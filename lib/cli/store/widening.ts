/**
 * The statements that convert the keys of filled tables, and all columns that refer to these keys,
 * to bigint and back. They depend on the current schema.
 *
 * Guarantee: an integer keeps its value. Any other key becomes a number from 1 up, below all IDs of
 * this library, and a table keeps the old key of each row. This file executes no change.
 */
import { databaseOf } from '../../stores/schemes.js';
import { usageFault } from '../command.js';

type Ask = Awaited<ReturnType<Awaited<ReturnType<typeof databaseOf>>['open']>>['ask'];

/** Names are quoted as in SQL. */
interface Column {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  /** True for the only column of a primary key. */
  readonly isKey: boolean;
  /** MariaDB: the rest of its line in CREATE TABLE. */
  readonly definition?: string;
  /** PostgreSQL: the generator of its value, after GENERATED or DEFAULT. */
  readonly identity?: string | null;
  readonly default?: string | null;
}

interface ForeignKey {
  readonly table: string;
  readonly name: string;
  readonly definition: string;
  readonly columns: readonly string[];
  readonly target: string;
  readonly targetColumns: readonly string[];
}

interface Schema {
  /** The prefix for table names without a schema. */
  readonly prefix: string;
  readonly columns: readonly Column[];
  readonly foreignKeys: readonly ForeignKey[];
}

/** A column that becomes a bigint, and the source of its values. */
interface Change extends Column {
  /** False if it refers to another column. */
  readonly isRoot: boolean;
  /** The table that keeps the old keys; undefined for integers, which stay. */
  readonly map: string | undefined;
  /** The columns that determine the numbering of a table's rows. */
  readonly order: string;
  /** MariaDB: keeps columns that an update of a row would change automatically. */
  readonly kept: string;
}

interface Widening {
  readonly changes: readonly Change[];
  readonly foreignKeys: readonly ForeignKey[];
}

const INTEGER = /^(tiny|small|medium|big)?int/;
const TEXT = /^(uuid|text|character|(var)?(char|binary))\b/;
const TIME = /^(timestamp|datetime)/;
const CREATED = /^created_?(at|on)?$/i;
const ON_UPDATE = / ON UPDATE /i;

const bare = (name: string): string => name.replaceAll(/["`]/g, '');
const title = ({ table, name }: Column): string => `${bare(table)}.${bare(name)}`;

/**
 * @param tables with or without their schema
 * @returns the statements, the first of which begins with comments
 * @throws SnowflakeError CONFIG_INVALID for tables that are missing or have an unsuitable key
 */
export async function wideningOf(
  url: string,
  tables: readonly string[],
  isBack: boolean,
): Promise<string[]> {
  const database = await databaseOf(url);
  const [read, steps] =
    database.dialect === 'postgres' ? [readPostgres, postgresSteps] : [readMariadb, mariadbSteps];
  try {
    const session = await database.open();
    const ask: Ask = (sql, params) => session.ask(sql, params);
    try {
      const plan = planOf(await read(ask), tables);
      if (steps === mariadbSteps) await refuseDigits(ask, plan.changes);
      return [...explained(plan.changes, isBack), ...steps(plan, isBack)];
    } finally {
      session.destroy();
    }
  } catch (error) {
    throw database.failure(error, tables.join(', ')).error;
  }
}

function planOf(schema: Schema, tables: readonly string[]): Widening {
  const keys = schema.columns.filter((column) => column.isKey);
  const known = keys.map(({ table, type }) => `${bare(table)} (${type})`).join(', ');
  if (tables.length === 0) {
    throw usageFault(`Name each table whose key is to be a bigint by --table. There are ${known}.`);
  }
  const named = tables.map((table) => {
    const full = table.includes('.') ? table : schema.prefix + table;
    const key = keys.find((one) => bare(one.table) === full);
    if (key !== undefined && (INTEGER.test(key.type) || TEXT.test(key.type))) return key;
    throw usageFault(`${table} has no key that could be a bigint. Keys of one column: ${known}.`);
  });
  const targetOf = ({ table, name }: Column) =>
    schema.foreignKeys.find(
      (one) => one.table === table && one.columns.includes(name) && one.target !== table,
    )?.target;
  const roots = named.filter((key) => targetOf(key) === undefined);
  const keyOf = new Map(roots.map((key) => [key, key]));
  // Columns may refer to this one, so it is visited too.
  for (const [column, key] of keyOf) {
    for (const { table, columns, target, targetColumns } of schema.foreignKeys) {
      const name = target === column.table && columns[targetColumns.indexOf(column.name)];
      const found = schema.columns.find((one) => one.table === table && one.name === name);
      if (found !== undefined && !keyOf.has(found)) keyOf.set(found, key);
    }
  }
  const missing = named.find((key) => !keyOf.has(key));
  if (missing !== undefined) {
    const target = bare(targetOf(missing)!);
    throw usageFault(`${title(missing)} refers to ${target}: name that table too.`);
  }
  return {
    changes: Array.from(keyOf, ([column, key]) => changeOf(column, key, schema)),
    foreignKeys: schema.foreignKeys.filter(({ table, columns }) =>
      [...keyOf.keys()].some((one) => one.table === table && columns.includes(one.name)),
    ),
  };
}

function changeOf(column: Column, key: Column, { columns }: Schema): Change {
  const own = columns.filter(({ table }) => table === column.table);
  const times = own.filter(({ name, type }) => CREATED.test(bare(name)) && TIME.test(type));
  const updated = own.filter(({ definition = '' }) => ON_UPDATE.test(definition));
  return {
    ...column,
    isRoot: column === key,
    map: INTEGER.test(key.type) ? undefined : key.table.replace(/(["`]?)$/, '_old_ids$1'),
    order: [...times, column].map(({ name }) => `t.${name}`).join(', '),
    kept: updated.map(({ name }) => `, t.${name} = t.${name}`).join(''),
  };
}

function explained(changes: readonly Change[], isBack: boolean): string[] {
  return [
    `-- ${isBack ? 'From' : 'To'} bigint: ${changes.map(title).join(', ')}.`,
    '-- A column that refers to one of these without a foreign key is not among them.',
    '-- Print the way back before you go there, make a backup, and stop the application.',
    ...mappedOf(changes).map((key) =>
      isBack
        ? `-- ${title(key)}: the old keys come from ${key.map}; a newer row gets a UUID.`
        : `-- ${title(key)}: rows are numbered from 1 by ${key.order.replaceAll('t.', '')}. The ` +
          `old keys are kept in ${key.map}; drop it once you need no way back.`,
    ),
  ];
}

const mappedOf = (changes: readonly Change[]): Change[] =>
  changes.filter(({ isRoot, map }) => isRoot && map !== undefined);

function byTable<T extends { readonly table: string }>(all: readonly T[]): [string, T[]][] {
  const tables = new Set(all.map(({ table }) => table));
  return Array.from(tables, (table) => [table, all.filter((one) => one.table === table)]);
}

const added = ({ table, name, definition }: ForeignKey): string =>
  `ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition};`;

/*
 * PostgreSQL: one transaction. A column changes its type in place, so its indexes, checks and
 * comments stay.
 */

const COLUMNS_OF_POSTGRES = `SELECT format('%I.%I', n.nspname, c.relname) AS table,
  quote_ident(a.attname) AS name, format_type(a.atttypid, a.atttypmod) AS type,
  COALESCE(i.indnkeyatts = 1 AND i.indkey[0] = a.attnum, false) AS "isKey",
  pg_get_expr(d.adbin, d.adrelid) AS default,
  CASE a.attidentity WHEN 'a' THEN 'ALWAYS' WHEN 'd' THEN 'BY DEFAULT' END AS identity
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
ORDER BY 1, a.attnum`;

const namesOf = (table: string, numbers: string): string =>
  `ARRAY(SELECT quote_ident(a.attname) FROM unnest(${numbers}) WITH ORDINALITY AS u (number, place)
    JOIN pg_attribute a ON a.attrelid = ${table} AND a.attnum = u.number ORDER BY place)`;

const FOREIGN_KEYS_OF_POSTGRES = `SELECT format('%I.%I', n.nspname, c.relname) AS table,
  quote_ident(f.conname) AS name, pg_get_constraintdef(f.oid) AS definition,
  ${namesOf('f.conrelid', 'f.conkey')} AS columns, format('%I.%I', m.nspname, t.relname) AS target,
  ${namesOf('f.confrelid', 'f.confkey')} AS "targetColumns"
FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_class t ON t.oid = f.confrelid
JOIN pg_namespace m ON m.oid = t.relnamespace
WHERE f.contype = 'f' AND f.conparentid = 0 ORDER BY 1, 2`;

function postgresSteps({ changes, foreignKeys }: Widening, isBack: boolean): string[] {
  const mapped = mappedOf(changes);
  const [from, to] = isBack ? ['id', 'old_id'] : ['old_id', 'id'];
  const [fromType, toType] = isBack
    ? [() => 'bigint', ({ type }: Column) => type]
    : [({ type }: Column) => type, () => 'bigint'];
  // USING may not contain a query, but it may call a function of the session.
  const functionOf = (map = '') => `pg_temp.${map.split('.').at(-1)}`;
  return [
    'BEGIN;',
    `SET LOCAL lock_timeout = '10s';`,
    `LOCK TABLE ${byTable(changes)
      .map(([table]) => table)
      .join(', ')} IN ACCESS EXCLUSIVE MODE;`,
    ...foreignKeys.map(({ table, name }) => `ALTER TABLE ${table} DROP CONSTRAINT ${name};`),
    ...mapped.flatMap((key) => [
      ...postgresMap(key, isBack),
      `CREATE FUNCTION ${functionOf(key.map)}(${fromType(key)}) RETURNS ${toType(key)} ` +
        `LANGUAGE plpgsql STRICT AS $$ DECLARE found ${key.map}.${to}%TYPE; BEGIN SELECT ${to} ` +
        `INTO STRICT found FROM ${key.map} WHERE ${from} = $1; RETURN found; END $$;`,
    ]),
    ...(isBack ? [] : changes.flatMap((one) => postgresDefault(one, isBack))),
    ...byTable(changes).map(([table, own]) => {
      const parts = own.map((one) => {
        const using = one.map === undefined ? '' : ` USING ${functionOf(one.map)}(${one.name})`;
        return `ALTER COLUMN ${one.name} TYPE ${toType(one)}${using}`;
      });
      return `ALTER TABLE ${table} ${parts.join(', ')};`;
    }),
    ...(isBack ? changes.flatMap((one) => postgresDefault(one, isBack)) : []),
    ...foreignKeys.map(added),
    ...mapped.map((key) => `DROP FUNCTION ${functionOf(key.map)}(${fromType(key)});`),
    ...mapped.flatMap(({ map }) => (isBack ? [`DROP TABLE ${map};`] : [])),
    'COMMIT;',
  ];
}

function postgresMap({ table, name, type, map, order }: Change, isBack: boolean): string[] {
  return isBack
    ? [
        `INSERT INTO ${map} SELECT gen_random_uuid()${type === 'uuid' ? '' : '::text'}, ${name} ` +
          `FROM ${table} WHERE ${name} NOT IN (SELECT id FROM ${map});`,
      ]
    : [
        `CREATE TABLE ${map} (old_id ${type} PRIMARY KEY, id bigint NOT NULL UNIQUE);`,
        `INSERT INTO ${map} SELECT ${name}, row_number() OVER (ORDER BY ${order}) FROM ${table} t;`,
      ];
}

/** Drops or restores the generated value of a key. Columns that refer to a key keep theirs. */
function postgresDefault(column: Change, isBack: boolean): string[] {
  const { table, name, identity, map, isKey } = column;
  if (!isKey || (column.default ?? identity ?? undefined) === undefined) return [];
  const alter = `ALTER TABLE ${table} ALTER COLUMN ${name}`;
  if (!isBack) return [`${alter} DROP ${identity ? 'IDENTITY' : 'DEFAULT'};`];
  const given = identity
    ? `ADD GENERATED ${identity} AS IDENTITY`
    : `SET DEFAULT ${column.default}`;
  const [tableText, nameText] = [table, bare(name)].map((text) => text.replaceAll("'", "''"));
  const next =
    `SELECT setval(pg_get_serial_sequence('${tableText}', '${nameText}'), ` +
    `COALESCE(max(${name}), 0) + 1, false) FROM ${table};`;
  return [`${alter} ${given};`, ...(map === undefined ? [next] : [])];
}

async function readPostgres(ask: Ask): Promise<Schema> {
  const [row] = await ask('SELECT current_schema() AS schema');
  // With this path, definitions contain the schema of each name.
  await ask('SET search_path = pg_catalog');
  const columns = (await ask(COLUMNS_OF_POSTGRES)) as unknown as Column[];
  const foreignKeys = (await ask(FOREIGN_KEYS_OF_POSTGRES)) as unknown as ForeignKey[];
  return { prefix: `${String(row?.['schema'])}.`, columns, foreignKeys };
}

/*
 * MariaDB and MySQL commit each statement. A string key first becomes the digits of its number, and
 * these become a bigint, so its indexes stay.
 */

const COLUMN = /^ {2}(`.+?`) (.*?),?$/gm;
const FOREIGN =
  /^ {2}CONSTRAINT (`.+?`) (FOREIGN KEY \((.+?)\) REFERENCES (`\S+`) \((.+?)\).*?),?$/gm;
const TYPE = /^\w+(\([^)]*\))?( unsigned)?( zerofill)?( CHARACTER SET \w+)?( COLLATE \w+)?/;
const KEY_DEFAULT = / AUTO_INCREMENT| DEFAULT (uuid\(\)|\(uuid\(\)\))/;

function mariadbSteps({ changes, foreignKeys }: Widening, isBack: boolean): string[] {
  const moved = changes.filter(({ map }) => map !== undefined);
  const modify = (of: readonly Change[], typeOf: (column: Change) => string) =>
    byTable(of).map(([table, own]) => {
      const parts = own.map((one) => `MODIFY ${one.name} ${typeOf(one)}`);
      return `ALTER TABLE ${table} ${parts.join(', ')};`;
    });
  const isShort = ({ type }: Column) => isBack || !/^(var)?char/.test(type);
  return [
    // In these modes, a value that does not fit is an error, and the ID 0 stays 0.
    `SET @mode = @@sql_mode, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO';`,
    ...changes.filter(({ isRoot, map }) => isBack && isRoot && map === undefined).flatMap(fits),
    ...byTable(foreignKeys).map(([table, own]) => {
      const parts = own.map(({ name }) => `DROP FOREIGN KEY ${name}`);
      return `ALTER TABLE ${table} ${parts.join(', ')};`;
    }),
    ...mappedOf(changes).map((key) => mariadbMap(key, isBack)),
    ...modify(
      moved.filter(isShort),
      ({ type }) => `VAR${type.includes('binary') ? 'BINARY' : 'CHAR'}(64)`,
    ),
    ...moved.map(({ table, name, map, kept }) => {
      const [on, to] = isBack
        ? [`m.id = CAST(t.${name} AS SIGNED)`, 'old_id']
        : [`m.old_id = t.${name}`, 'id'];
      return `UPDATE ${table} t JOIN ${map} m ON ${on} SET t.${name} = m.${to}${kept};`;
    }),
    ...modify(changes, ({ definition = '', isKey }) => {
      const wide = definition.replace(TYPE, 'bigint');
      return isBack ? definition : isKey ? wide.replace(KEY_DEFAULT, '') : wide;
    }),
    ...foreignKeys.map(added),
    ...mappedOf(changes).flatMap(({ map }) => (isBack ? [`DROP TABLE ${map};`] : [])),
    'SET SESSION sql_mode = @mode;',
  ];
}

/** Fails before any change if an ID does not fit into the old type. */
function fits({ table, name, definition = '' }: Change): string[] {
  const type = TYPE.exec(definition)![0];
  return [
    `CREATE TEMPORARY TABLE fits (id ${type}) SELECT MAX(${name}) AS id FROM ${table};`,
    'DROP TEMPORARY TABLE fits;',
  ];
}

function mariadbMap({ table, name, type, map, order }: Change, isBack: boolean): string {
  const uuid = type.includes('binary') ? `UNHEX(REPLACE(UUID(), '-', ''))` : 'UUID()';
  return isBack
    ? `INSERT INTO ${map} (old_id, id) SELECT ${uuid}, ${name} FROM ${table} ` +
        `WHERE ${name} NOT IN (SELECT id FROM ${map});`
    : `CREATE TABLE ${map} (PRIMARY KEY (old_id), UNIQUE (id)) SELECT ${name} AS old_id, ` +
        `ROW_NUMBER() OVER (ORDER BY ${order}) AS id FROM ${table} t;`;
}

async function readMariadb(ask: Ask): Promise<Schema> {
  const columns: Column[] = [];
  const foreignKeys: ForeignKey[] = [];
  for (const row of await ask("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'")) {
    const table = `\`${String(Object.values(row)[0])}\``;
    const [made] = await ask(`SHOW CREATE TABLE ${table}`);
    const text = String(made?.['Create Table']);
    for (const [, name = '', definition = ''] of text.matchAll(COLUMN)) {
      const isKey = text.includes(`PRIMARY KEY (${name})`);
      columns.push({ table, name, type: definition.split(' ')[0]!, isKey, definition });
    }
    for (const [, name = '', definition = '', own, target = '', theirs] of text.matchAll(FOREIGN)) {
      const [names = [], targetColumns = []] = [own, theirs].map((list) => list?.split(', '));
      foreignKeys.push({ table, name, definition, columns: names, target, targetColumns });
    }
  }
  return { prefix: '', columns, foreignKeys };
}

/** A string of digits could equal the new number of another row. */
async function refuseDigits(ask: Ask, changes: readonly Change[]): Promise<void> {
  for (const key of mappedOf(changes)) {
    const { table, name } = key;
    const digits = `SELECT 1 AS found FROM ${table} WHERE ${name} REGEXP '^[0-9]{1,19}$' LIMIT 1`;
    if ((await ask(digits)).length === 0) continue;
    throw usageFault(`Keys in ${title(key)} are digits: move that table manually.`);
  }
}
