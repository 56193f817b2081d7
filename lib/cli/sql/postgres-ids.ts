/**
 * A function for PostgreSQL that makes ids of one worker id.
 *
 * Promise: no two calls return one id, whatever the clock, rollbacks and other sessions do. Reading
 * the last number, the clock, and storing the next one happen under one lock; setval is never
 * rolled back. The lock is of a block that is always rolled back, so that it is free again at once
 * and not at the end of the caller's transaction.
 */
import type { IdNumbers } from './id-numbers.js';

/** The first half of the lock's key, for all functions made here; "SNOW" in ASCII. */
const LOCK_CLASS = 0x534e4f57;

/** @param name with its schema */
export function postgresIds(name: string, numbers: IdNumbers): string[] {
  const { epochMs, unitMs, sequenceBits, numberMax } = numbers;
  const last = `${name}_last`;
  return [
    `CREATE SEQUENCE ${last} AS bigint MINVALUE 0 MAXVALUE ${numberMax} START 0 NO CYCLE;`,
    '',
    `CREATE FUNCTION ${name}() RETURNS bigint`,
    'LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER',
    'SET search_path = pg_catalog, pg_temp AS $$',
    'DECLARE',
    '  number bigint;',
    'BEGIN',
    '  BEGIN',
    `    PERFORM pg_advisory_xact_lock(${LOCK_CLASS}, '${last}'::regclass::oid::int);`,
    '    SELECT greatest(last_value + 1, floor((',
    `        extract(epoch FROM clock_timestamp()) * 1000 - ${epochMs}`,
    `      ) / ${unitMs})::bigint << ${sequenceBits})`,
    `      INTO number FROM ${last};`,
    `    PERFORM setval('${last}', number);`,
    '    -- Undoes this block and with it the lock, but not setval.',
    `    RAISE EXCEPTION USING ERRCODE = 'SF001';`,
    `  EXCEPTION WHEN SQLSTATE 'SF001' THEN NULL;`,
    '  END;',
    `  RETURN ${numbers.idOf('number')};`,
    'END $$;',
  ];
}
