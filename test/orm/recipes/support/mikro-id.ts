/** The type of an ID in MikroORM, as its guide declares it. */
import { BigIntType } from '@mikro-orm/core';

export class MikroId extends BigIntType<'string'> {
  constructor() {
    super('string');
  }

  override convertToDatabaseValue(id: unknown): string {
    if (typeof id === 'number') throw new TypeError(`An ID is text: ${id} has lost digits.`);
    return super.convertToDatabaseValue(id as string) as string;
  }
}
