/**
 * A procedure for MariaDB that makes ids of one worker id.
 *
 * Promise: no two calls return one id, whatever the clock, rollbacks and other sessions do: each
 * number is from NEXTVAL, which gives none twice, and SETVAL only ever raises what comes next. No
 * lock is taken. It is a procedure, because SETVAL takes no variable and a function may not build
 * a statement.
 */
import type { IdNumbers } from './id-numbers.js';

/** The largest value that a sequence there may have. */
const SEQUENCE_MAX = 2n ** 63n - 2n;

export function mariadbIds(name: string, numbers: IdNumbers): string[] {
  const { epochMs, unitMs, sequenceBits, numberMax } = numbers;
  const last = `${name}_last`;
  const max = numberMax < SEQUENCE_MAX ? numberMax : SEQUENCE_MAX;
  return [
    `CREATE SEQUENCE ${last} START WITH 1 MINVALUE 1 MAXVALUE ${max} NOCACHE NOCYCLE;`,
    '',
    'DELIMITER $$',
    `CREATE PROCEDURE ${name}(OUT id BIGINT) MODIFIES SQL DATA SQL SECURITY DEFINER`,
    'BEGIN',
    '  DECLARE reached BIGINT DEFAULT',
    '    GREATEST(0, FLOOR((',
    `      TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000 - ${epochMs}`,
    `    ) / ${unitMs})) << ${sequenceBits};`,
    `  DECLARE number BIGINT DEFAULT NEXTVAL(${last});`,
    '  IF number < reached THEN',
    '    -- Does nothing where another session was quicker.',
    `    EXECUTE IMMEDIATE CONCAT('DO SETVAL(${last}, ', reached, ', 0)');`,
    `    SET number = NEXTVAL(${last});`,
    '  END IF;',
    `  SET id = ${numbers.idOf('number')};`,
    'END $$',
    'DELIMITER ;',
  ];
}
