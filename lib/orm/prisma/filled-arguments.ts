/**
 * Finds the new rows in the arguments of a query, and gives them ids.
 *
 * Prisma's hooks see a query once, with all rows nested in it, so the arguments are walked through.
 * Promise: what was passed in is copied where it changes, and what is not understood is left to
 * Prisma, which refuses it.
 */
import { SnowflakeError } from '../../errors.js';
import { currentIdMaker } from '../../nest/current-id-makers.js';
import { shown } from '../../shown.js';
import type { Model } from './marked-models.js';

type Parts = Readonly<Record<string, unknown>>;
type Change = (row: Parts) => Parts;

interface Call {
  readonly model: string;
  readonly operation: string;
  readonly args: unknown;
}

export function withIds(
  models: ReadonlyMap<string, Model>,
  generator: string | undefined,
  { model, operation, args }: Call,
): unknown {
  const walk = new Walk(models, generator);
  // A row of which every field has a default needs no `data`, and no arguments.
  const given = operation === 'create' ? { data: {}, ...(args as Parts | undefined) } : args;
  return isParts(given) ? walk.ofOperation(operation, models.get(model), given) : given;
}

class Walk {
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
        return changed(args, { data: toNewRow });
      case 'update':
        return changed(args, { data: toUpdate });
      case 'upsert':
        return changed(args, { create: toNewRow, update: toUpdate });
      case 'connectOrCreate':
        return changed(args, { create: toNewRow });
      default:
        return args;
    }
  }

  private newRow(row: Parts, model: Model): Parts {
    const filled: Record<string, unknown> = this.update(row, model);
    for (const [field, type] of model.ids) {
      const value = filled[field];
      if (value === undefined) filled[field] = this.nextId(type);
      else if (typeof value === 'number') refuseInexact(field, value);
    }
    return filled;
  }

  /** A row of which the other rows that it leads to are filled. */
  private update(row: Parts, { relations }: Model): Record<string, unknown> {
    const copy: Record<string, unknown> = { ...row };
    for (const [field, name] of relations) {
      const operations = copy[field];
      if (isParts(operations)) copy[field] = this.nested(operations, this.models.get(name));
    }
    return copy;
  }

  /** Nested operations are written as those of a client are, but for two. */
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

  private nextId(type: 'BigInt' | 'String'): bigint | string {
    const ids = currentIdMaker(this.generator);
    return type === 'BigInt' ? ids.nextId() : ids.nextIdString();
  }
}

/** Prisma takes `{ where, data }` and, where a relation leads to one row, also its fields alone. */
function hasData({ data, ...rest }: Parts, { fields }: Model): boolean {
  const isOfRow = isParts(data) && Object.keys(data).every((key) => fields.has(key));
  return isOfRow && Object.keys(rest).every((key) => key === 'where');
}

/** A copy in which the rows below these keys are changed, whether they are one or a list. */
function changed(args: Parts, changes: Readonly<Record<string, Change>>): Parts {
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

/** `Prisma.skip` is an object that stands for nothing; only it has this method. */
function isParts(value: unknown): value is Parts {
  return typeof value === 'object' && value !== null && !('ifUndefined' in value);
}

function refuseInexact(field: string, value: number): void {
  if (Number.isSafeInteger(value)) return;
  throw new SnowflakeError(
    'ID_INVALID',
    `Expected the id in \`${field}\` as bigint or text, got ${shown(value)}, which has lost ` +
      'digits. Nothing was sent to the database. Keep ids as bigint or text, in JSON as text.',
    { details: { field, value } },
  );
}
