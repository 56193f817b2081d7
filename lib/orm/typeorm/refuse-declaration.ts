/**
 * Refuses a `@SnowflakeId()` that could not keep ids exact or rows distinct.
 *
 * The error is thrown when the class is loaded, before there is any row. The type of the property
 * is known, and checked, only with `emitDecoratorMetadata`.
 */
import type { ColumnOptions } from 'typeorm';
import { SnowflakeError } from '../../errors.js';
import { nearest } from '../../nearest.js';
import { shown } from '../../shown.js';

const OWN_OPTIONS = ['type', 'primary', 'generator'];

export function refuseDeclaration(
  prototype: object,
  property: string,
  column: ColumnOptions,
): void {
  const { type, primary, nullable } = column;
  const fault =
    propertyFault(prototype, property) ??
    nameFault(column) ??
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

/** Every other name is one of TypeORM, which has more of them in each version. */
function nameFault(column: ColumnOptions): string | undefined {
  if ('maker' in column) return 'The option `maker` is called `generator` now.';
  for (const name of Object.keys(column)) {
    const meant = OWN_OPTIONS.includes(name) ? undefined : nearest(name, OWN_OPTIONS);
    if (meant !== undefined) return `There is no option \`${name}\`. Did you mean \`${meant}\`?`;
  }
  return undefined;
}

function typeFault(type: unknown): string | undefined {
  if (type === 'bigint' || type === 'varchar') return undefined;
  return `Expected \`type\` to be 'bigint' or 'varchar', got ${shown(type)}.`;
}
