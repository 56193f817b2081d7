/**
 * `nestjs-snowflake/prisma`: IDs for the models of a Prisma schema.
 *
 * Mark a field with `@default(dbgenerated())` and extend the client with `snowflakeIds()`, which
 * fills in IDs before Prisma builds a query.
 *
 * Guarantee: every new row in the arguments has its IDs, or the call fails. Prisma itself is
 * recognized by its structure, so one build supports all its major versions.
 */
import { SnowflakeError } from '../../errors.js';
import { format } from '../../messages.js';
import { currentIdMaker } from '../../nest/id-maker.js';
import { nameFaults, refuse, unknownNames } from '../../options.js';
import { refuseLostDigits } from '../exact-text.js';

/** Options of snowflakeIds(). */
export interface SnowflakeIdsOptions {
  /** The generator of the IDs, by its `name`. Default: the one without a name. */
  readonly generator?: string | undefined;
}

/** The argument of `$extends()` of every Prisma client; it changes no type of the client. */
export type SnowflakeIdsExtension = (client: object) => {
  $extends: { extArgs: { result: {}; model: {}; query: {}; client: {} } };
};

interface Query {
  /** Raw SQL has none. */
  readonly model?: string;
  readonly operation: string;
  readonly args: unknown;
  readonly query: (args: unknown) => Promise<unknown>;
}

/**
 * A client extension for Prisma 6.19 and 7. It gives every new row an ID in each field that is
 * marked with `@default(dbgenerated())`. `BigInt` fields get a bigint, `String` fields its decimal
 * string. A field with a value keeps it.
 *
 * It fills in rows of create, createMany, createManyAndReturn and upsert, and the rows nested in
 * other rows, which get their IDs after the outer row. Your arguments do not change. Raw SQL and a
 * client without the extension get no IDs: the database rejects such a row, because the column has
 * no default there.
 *
 * A number that is not a safe integer is rejected in every BigInt field of the arguments, including
 * conditions and foreign keys, and as a parameter of raw SQL. It has lost digits, and would find
 * the row of another ID.
 *
 * Pass it to the last `$extends()`, so that it also handles rows that other extensions add.
 *
 * @throws SnowflakeError at `$extends()`: CONFIG_INVALID if no field is marked, or if this version
 * of Prisma does not expose its data model, or rounds IDs in joins. Queries throw the errors of the
 * generator, such as NOT_READY before the application has started.
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
  const strangers = unknownNames(options, 'generator', 'snowflakeIds()');
  const { generator } = options;
  refuse([...strangers, ...(generator === undefined ? [] : nameFaults('generator', generator))]);
  return (client) => {
    const models = modelsOf(client);
    const $allOperations = ({ model, operation, args, query }: Query): Promise<unknown> =>
      query(withIds(models, generator, { model, operation, args }));
    const extension = { name: 'nestjs-snowflake', query: { $allOperations } };
    const { $extends } = client as { $extends: (extension: object) => unknown };
    return $extends.call(client, extension) as ReturnType<SnowflakeIdsExtension>;
  };
}

/*
 * Finds the new rows in the arguments of a query, and gives them IDs. Prisma calls its hooks once
 * per query, with all nested rows, so this code searches the arguments.
 *
 * Guarantee: changed arguments are copied. Unknown ones are passed to Prisma, which rejects them.
 */

type Parts = Readonly<Record<string, unknown>>;
type Change = (row: Parts) => Parts;

function withIds(
  models: ReadonlyMap<string, Model>,
  generator: string | undefined,
  { model, operation, args }: Omit<Query, 'query'>,
): unknown {
  if (model === undefined) return withoutLostDigits(args);
  const walk = new QueryWalk(models, generator);
  refuseInexact(args, models, models.get(model));
  // A row needs no `data`, and no arguments, if every field has a default.
  const given = operation === 'create' ? { data: {}, ...(args as Parts | undefined) } : args;
  return isParts(given) ? walk.ofOperation(operation, models.get(model), given) : given;
}

/** @param args of raw SQL: what a tagged template makes, or a text and its values */
function withoutLostDigits(args: unknown): unknown {
  refuseLostDigits(Array.isArray(args) ? args : (args as Parts | undefined)?.['values']);
  return args;
}

class QueryWalk {
  constructor(
    private readonly models: ReadonlyMap<string, Model>,
    private readonly generator: string | undefined,
  ) {}

  ofOperation(operation: string, model: Model | undefined, args: Parts): Parts {
    if (model === undefined) return args;
    const toNewRow: Change = (row) => this.newRow(row, model);
    const toUpdate: Change = (row) => this.update(row, model);
    switch (operation) {
      case 'create':
      case 'createMany':
      case 'createManyAndReturn':
        return withChanges(args, { data: toNewRow });
      case 'update':
        return withChanges(args, { data: toUpdate });
      case 'upsert':
        return withChanges(args, { create: toNewRow, update: toUpdate });
      case 'connectOrCreate':
        return withChanges(args, { create: toNewRow });
      default:
        return args;
    }
  }

  /** Its ids come first, so that they are below those of the rows nested in it. */
  private newRow(row: Parts, model: Model): Parts {
    const filled: Record<string, unknown> = { ...row };
    for (const [field, type] of model.ids) {
      if (filled[field] === undefined) filled[field] = this.nextId(type);
    }
    return this.update(filled, model);
  }

  /** Fills the rows nested in a row that is updated. */
  private update(row: Parts, { relations }: Model): Record<string, unknown> {
    const copy: Record<string, unknown> = { ...row };
    for (const [field, name] of relations) {
      const operations = copy[field];
      if (isParts(operations)) copy[field] = this.nested(operations, this.models.get(name));
    }
    return copy;
  }

  /** Nested operations have the format of a client's operations, with two exceptions. */
  private nested(operations: Parts, model: Model | undefined): Parts {
    if (model === undefined) return operations;
    const copy: Record<string, unknown> = { ...operations };
    for (const [operation, value] of Object.entries(operations)) {
      copy[operation] = each(value, (args) => {
        if (operation === 'create') return this.newRow(args, model);
        if (operation === 'update' && !hasData(args, model)) return this.update(args, model);
        return this.ofOperation(operation, model, args);
      });
    }
    return copy;
  }

  private nextId(type: IdType): bigint | string {
    const ids = currentIdMaker(this.generator);
    return type === 'BigInt' ? ids.nextId() : ids.nextIdString();
  }
}

/** Prisma accepts `{ where, data }` or, for a relation to one row, only the fields. */
function hasData({ data, ...rest }: Parts, { fields }: Model): boolean {
  const isOfRow = isParts(data) && Object.keys(data).every((key) => fields.has(key));
  return isOfRow && Object.keys(rest).every((key) => key === 'where');
}

/** Copies the arguments and changes the rows below these keys, in a list or single. */
function withChanges(args: Parts, changes: Readonly<Record<string, Change>>): Parts {
  const copy: Record<string, unknown> = { ...args };
  for (const [key, change] of Object.entries(changes)) {
    if (key in copy) copy[key] = each(copy[key], change);
  }
  return copy;
}

function each(value: unknown, change: Change): unknown {
  if (Array.isArray(value)) return value.map((one) => each(one, change));
  return isParts(value) ? change(value) : value;
}

/** `Prisma.skip` is an object that stands for no value; only it has this method. */
function isParts(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null && !('ifUndefined' in value);
}

/**
 * Rejects a number that has lost digits wherever an ID may be: in rows, conditions, cursors,
 * relations and foreign keys. In a condition it would find the row of another ID.
 *
 * @param field the field that has this value, or a condition that contains it
 * @throws SnowflakeError ID_INVALID
 */
function refuseInexact(
  value: unknown,
  models: ReadonlyMap<string, Model>,
  model: Model | undefined,
  field?: string,
): void {
  if (typeof value === 'number') {
    if (field === undefined || Number.isSafeInteger(value)) return;
    throw new SnowflakeError(
      'ID_INVALID',
      `Expected the id in \`${field}\` as bigint or text, got ${format(value)}, which has lost ` +
        'digits. Nothing was sent to the database. Keep ids as bigint or text, in JSON as text.',
      { details: { field, value } },
    );
  }
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return;
  if (Array.isArray(value)) {
    for (const one of value) refuseInexact(one, models, model, field);
    return;
  }
  for (const [key, part] of Object.entries(value)) {
    const other = model?.relations.get(key);
    if (other !== undefined) refuseInexact(part, models, models.get(other));
    else if (model?.exact.has(key)) refuseInexact(part, models, model, key);
    // An operator, whose value still belongs to the field. Other fields may hold any value.
    else if (!model?.fields.has(key) || field !== undefined) {
      refuseInexact(part, models, model, field);
    }
  }
}

/*
 * The models of a client, and their fields to fill with IDs. Both come from private members,
 * because Prisma exposes its data model nowhere else.
 *
 * Guarantee: `$extends()` fails if the members differ from Prisma 6 and 7, so that no row stays
 * without an ID.
 */

type IdType = 'BigInt' | 'String';

interface Model {
  readonly fields: ReadonlySet<string>;
  /**
   * Fields whose numbers must have all their digits: every BigInt field, and every filled field.
   */
  readonly exact: ReadonlySet<string>;
  /** Maps a filled field to its type. */
  readonly ids: ReadonlyMap<string, IdType>;
  /** Maps a relation field to the name of its model. */
  readonly relations: ReadonlyMap<string, string>;
}

interface PrivateMembers {
  readonly _runtimeDataModel?: { readonly models?: Record<string, { fields: RuntimeFields }> };
  readonly _engineConfig?: { readonly inlineSchema?: unknown };
  readonly _clientVersion?: string;
  readonly _previewFeatures?: readonly string[];
}

type RuntimeFields = readonly { name: string; kind: string; type: string }[];

/** Their joins pass nested rows through JSON, whose integers have 53 bits. */
const ROUNDS_IN_JOINS = /^(6|7\.[0-2])\./;

const NOT_CODE = /"(?:[^"\\\n]|\\.)*"|\/\/.*|\/\*[^]*?\*\//g;
const MODEL = /^\s*(?:model|view)\s+(\w+)\s*\{([^}]*)\}/gm;
const MARKED_FIELD = /^\s*(\w+)\s+(BigInt|String)(?![\w[]).*@default\(\s*dbgenerated\(\s*\)\s*\)/gm;

function modelsOf(client: object): ReadonlyMap<string, Model> {
  const members = client as PrivateMembers;
  const { _runtimeDataModel: runtime, _engineConfig: engine } = members;
  const schema = engine?.inlineSchema;
  if (typeof runtime?.models !== 'object' || typeof schema !== 'string') {
    throw refused(
      'this client does not show its data model as Prisma 6.19 and 7 do. Use one of these ' +
        'versions, with a client that was not made by an extension that hides it.',
    );
  }
  const { _clientVersion: version = '', _previewFeatures: features } = members;
  if (features?.includes('relationJoins') && ROUNDS_IN_JOINS.test(version)) {
    throw refused(
      `with the preview feature \`relationJoins\`, Prisma ${version} rounds the ids of nested ` +
        'rows. Remove the feature, or use Prisma 7.3 or later.',
    );
  }
  const marked = markedFields(schema);
  const models = Object.entries(runtime.models).map(([name, { fields }]): [string, Model] => {
    const related = fields.filter(({ kind }) => kind === 'object');
    const relations = new Map(related.map(({ name, type }) => [name, type]));
    const ids = marked.get(name) ?? new Map<string, IdType>();
    const exact = fields.filter(({ name, type }) => type === 'BigInt' || ids.has(name));
    return [name, { fields: namesOf(fields), exact: namesOf(exact), ids, relations }];
  });
  if (models.some(([, { ids }]) => ids.size > 0)) return new Map(models);
  throw refused(
    'no field is marked. Write `id BigInt @id @default(dbgenerated())` in the schema, with ' +
      'nothing between the inner brackets, and run `prisma generate`.',
  );
}

const namesOf = (fields: RuntimeFields) => new Set(fields.map(({ name }) => name));

function markedFields(schema: string): Map<string, Map<string, IdType>> {
  const code = schema.replace(NOT_CODE, (text) => (text.startsWith('"') ? '""' : ''));
  const models = [...code.matchAll(MODEL)].map(([, name = '', body = '']) => {
    const fields = [...body.matchAll(MARKED_FIELD)].map(([, field, type]) => [field, type]);
    return [name, new Map(fields as [string, IdType][])] as const;
  });
  return new Map(models);
}

const refused = (fault: string): SnowflakeError =>
  new SnowflakeError('CONFIG_INVALID', `snowflakeIds() fills nothing: ${fault}`);
