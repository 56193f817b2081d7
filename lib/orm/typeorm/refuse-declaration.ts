/**
 * Refuses a `@SnowflakeId()` that could not keep ids exact or rows distinct.
 *
 * The error is thrown when the class is loaded, before there is any row. The type of the property
 * is known, and checked, only with `emitDecoratorMetadata`.
 */
import type { ColumnOptions } from 'typeorm';
import { SnowflakeError } from '../../errors.js';
import { shown } from '../../shown.js';

export function refuseDeclaration(
  prototype: object,
  property: string,
  column: ColumnOptions,
): void {
  const { type, primary, nullable } = column;
  const fault =
    propertyFault(prototype, property) ??
    ('maker' in column ? 'The option `maker` is called `generator` now.' : undefined) ??
    typeFault(type) ??
    (primary && nullable ? 'A primary column cannot be `nullable`; leave it out.' : undefined);
  if (fault === undefined) return;
  const where = `${prototype.constructor.name}.${property}`;
  throw new SnowflakeError('CONFIG_INVALID', `@SnowflakeId() on ${where}: ${fault}`, {
    details: { property: where },
  });
}

function propertyFault(prototype: object, property: string): string | undefined {
  const reflect = Reflect as { getMetadata?: (...of: [string, object, string]) => unknown };
  const declared = reflect.getMetadata?.('design:type', prototype, property);
  if (declared !== Number && declared !== BigInt) return undefined;
  return (
    `The property is declared as ${declared === Number ? 'number' : 'bigint'}, but TypeORM sets ` +
    'it to a string: a number is not exact beyond 2^53, and TypeORM cannot use bigint keys. ' +
    `Declare it as \`${property}: string\`.`
  );
}

function typeFault(type: unknown): string | undefined {
  if (type === 'bigint' || type === 'varchar') return undefined;
  return `Expected \`type\` to be 'bigint' or 'varchar', got ${shown(type)}.`;
}
