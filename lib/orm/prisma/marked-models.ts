/**
 * The models of a client, and which of their fields are marked to be filled with ids.
 *
 * Both are read from private members, since Prisma shows its data model nowhere else. Promise:
 * where they are not as in Prisma 6 and 7, `$extends()` fails, so that no row is left unfilled.
 */
import { SnowflakeError } from '../../errors.js';

export type IdType = 'BigInt' | 'String';

export interface Model {
  readonly fields: ReadonlySet<string>;
  /** Field that is filled -> its type. */
  readonly ids: ReadonlyMap<string, IdType>;
  /** Field -> name of the model it leads to. */
  readonly relations: ReadonlyMap<string, string>;
}

interface PrivateMembers {
  readonly _runtimeDataModel?: { readonly models?: Record<string, RuntimeModel> };
  readonly _engineConfig?: { readonly inlineSchema?: unknown };
}

interface RuntimeModel {
  readonly fields: readonly { name: string; kind: string; type: string }[];
}

const NOT_CODE = /"(?:[^"\\\n]|\\.)*"|\/\/.*|\/\*[^]*?\*\//g;
const MODEL = /^\s*(?:model|view)\s+(\w+)\s*\{([^}]*)\}/gm;
const MARKED_FIELD = /^\s*(\w+)\s+(BigInt|String)(?![\w[]).*@default\(\s*dbgenerated\(\s*\)\s*\)/gm;

export function modelsOf(client: object): ReadonlyMap<string, Model> {
  const { _runtimeDataModel: runtime, _engineConfig: engine } = client as PrivateMembers;
  const schema = engine?.inlineSchema;
  if (typeof runtime?.models !== 'object' || typeof schema !== 'string') {
    throw refused(
      'this client does not show its data model as Prisma 6.19 and 7 do. Use one of these ' +
        'versions, with a client that was not made by an extension that hides it.',
    );
  }
  const marked = markedFields(schema);
  const models = Object.entries(runtime.models).map(([name, { fields }]): [string, Model] => {
    const related = fields.filter(({ kind }) => kind === 'object');
    const relations = new Map(related.map(({ name, type }) => [name, type]));
    const ids = marked.get(name) ?? new Map<string, IdType>();
    return [name, { fields: new Set(fields.map((field) => field.name)), ids, relations }];
  });
  if (models.some(([, { ids }]) => ids.size > 0)) return new Map(models);
  throw refused(
    'no field is marked. Write `id BigInt @id @default(dbgenerated())` in the schema, with ' +
      'nothing between the inner brackets, and run `prisma generate`.',
  );
}

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
