/**
 * The client extension that fills ids in before Prisma makes a query.
 *
 * Promise: every new row in the arguments has its ids, or the call fails. Prisma itself is known by
 * its shape, so that one build serves all its majors.
 */
import { refuse, unknownNames } from '../../option-faults.js';
import { withIds } from './filled-arguments.js';
import { modelsOf } from './marked-models.js';

/** Options of snowflakeIds(). */
export interface SnowflakeIdsOptions {
  /** The generator that makes the ids, by its `name`. Default: the one without a name. */
  readonly generator?: string | undefined;
}

/** What `$extends()` of every Prisma client takes; it changes no type of the client. */
export type SnowflakeIdsExtension = (client: object) => {
  $extends: { extArgs: { result: {}; model: {}; query: {}; client: {} } };
};

/** What Prisma passes to a hook of queries. */
interface Query {
  readonly model: string;
  readonly operation: string;
  readonly args: unknown;
  readonly query: (args: unknown) => Promise<unknown>;
}

/**
 * A client extension for Prisma 6.19 and 7. It gives every new row an id in the fields that are
 * marked with `@default(dbgenerated())`: `BigInt` fields get a bigint, `String` fields its decimal
 * text. A field that has a value keeps it.
 *
 * It fills rows of create, createMany, createManyAndReturn and upsert, and those nested in other
 * rows. Your arguments are not changed. Raw SQL and a client without the extension get no ids:
 * the database refuses such a row, because the column has no default there.
 *
 * Pass it to the last `$extends()`, so that it sees the rows that other extensions add.
 *
 * @throws SnowflakeError at `$extends()`: CONFIG_INVALID where no field is marked, or where this
 * version of Prisma does not show its data model; from queries: what the generator throws, such as
 * NOT_READY before the application has started
 * @example
 * ```ts
 * import { snowflakeIds } from 'nestjs-snowflake/prisma';
 *
 * // schema.prisma: `id BigInt @id @default(dbgenerated())`
 * // const prisma = new PrismaClient({ adapter }).$extends(extension);
 * export const extension = snowflakeIds({ generator: 'tickets' });
 * ```
 */
export function snowflakeIds(options: SnowflakeIdsOptions = {}): SnowflakeIdsExtension {
  refuse(unknownNames(options, 'generator', 'snowflakeIds()'));
  const { generator } = options;
  return (client) => {
    const models = modelsOf(client);
    const $allOperations = ({ model, operation, args, query }: Query): Promise<unknown> =>
      query(withIds(models, generator, { model, operation, args }));
    const extension = { name: 'nestjs-snowflake', query: { $allModels: { $allOperations } } };
    const { $extends } = client as { $extends: (extension: object) => unknown };
    return $extends.call(client, extension) as ReturnType<SnowflakeIdsExtension>;
  };
}
