/**
 * Clients for which the extension cannot determine what to fill, so it fails before any query. Also
 * which fields count as marked. These clients have only the private members of a real client.
 * prisma.spec.ts shows that real clients have them.
 */
import { describe, expect, it, test } from '@jest/globals';
import { isSnowflakeError, startSnowflake } from 'nestjs-snowflake';
import { snowflakeIds } from 'nestjs-snowflake/prisma';

interface Extension {
  readonly query: { readonly $allOperations: (query: object) => unknown };
}

const scalar = (name: string, type = 'BigInt') => ({ name, kind: 'scalar', type });

const client = (schema: unknown, models: unknown = { A: { fields: [scalar('id')] } }) => ({
  _runtimeDataModel: { models },
  _engineConfig: { inlineSchema: schema },
  $extends: (extension: unknown) => extension,
});

const extended = (given: object): Extension => snowflakeIds()(given) as unknown as Extension;

const faultOf = (given: object): string => {
  try {
    extended(given);
    return 'none';
  } catch (error) {
    return isSnowflakeError(error) && error.code === 'CONFIG_INVALID' ? error.message : 'another';
  }
};

/** The fields that the extension fills in a row of model A, which has these fields. */
const filledFields = async (fields: string): Promise<string[]> => {
  await using _running = await startSnowflake({ workerId: 7 });
  const names = [...fields.matchAll(/^\s*(\w+)/gm)].map(([, name = '']) => scalar(name));
  const schema = `model A {\n${fields}\n}\nmodel Other {\n  id BigInt @default(dbgenerated())\n}`;
  const models = { A: { fields: names }, Other: { fields: [scalar('id')] } };
  const { $allOperations } = extended(client(schema, models)).query;
  const args = await new Promise<{ data: object }>((query) => {
    void $allOperations({ model: 'A', operation: 'create', args: { data: {} }, query });
  });
  return Object.keys(args.data);
};

const MARKED = 'model A {\n  id BigInt @id @default(dbgenerated())\n}';

describe('$extends fails with CONFIG_INVALID', () => {
  test.each<[string, object]>([
    ['no private members', {}],
    ['no schema', client(undefined)],
    ['a schema that is no string', client(7)],
    ['no models', { ...client(MARKED), _runtimeDataModel: undefined }],
    ['models that are no object', client(MARKED, 'A')],
    ['no configuration of an engine', { ...client(MARKED), _engineConfig: undefined }],
  ])('on a client that has %s', (_what, given) => {
    expect(faultOf(given)).toMatch(/^snowflakeIds\(\) fills nothing: this client does not show/);
  });

  test.each([
    ['no default', 'id BigInt @id'],
    ['an integer', 'id Int @id @default(dbgenerated())'],
    ['a list', 'id BigInt[] @default(dbgenerated())'],
    ['an expression', 'id String @id @default(dbgenerated("gen_random_uuid()"))'],
    ['an empty expression', 'id String @id @default(dbgenerated(""))'],
    ['another generator', 'id BigInt @id @default(autoincrement())'],
    ['a comment', 'id BigInt @id // @default(dbgenerated())'],
    ['a comment of several lines', 'id BigInt @id /* \n id BigInt @default(dbgenerated())\n*/'],
    ['a string', 'id String @id @default("@default(dbgenerated())")'],
    ['a string with an escaped quote', 'id String @id @default("\\"@default(dbgenerated())\\"")'],
    ['a type with a similar name', 'id BigIntId @id @default(dbgenerated())'],
  ])('if the mark is on %s', (_what, field) => {
    expect(faultOf(client(`model A {\n  ${field}\n}`))).toMatch(/no field is marked/);
  });

  it('if the client has no model of the marked name', () => {
    expect(faultOf(client(MARKED.replace('model A', 'model B')))).toMatch(/no field is marked/);
    expect(faultOf(client(MARKED.replace('model A', 'type A')))).toMatch(/no field is marked/);
  });

  test.each(['6.19.3', '7.2.0'])('if relationJoins of Prisma %s rounds IDs', (version) => {
    const joining = { ...client(MARKED), _previewFeatures: ['relationJoins'] };
    expect(faultOf({ ...joining, _clientVersion: version })).toMatch(
      /Prisma [\d.]+ rounds the ids/,
    );
  });

  it('but not if a field is marked', () => {
    const joining = { _previewFeatures: ['relationJoins'], _clientVersion: '7.3.0' };
    expect(faultOf({ ...client(MARKED), ...joining })).toBe('none');
  });
});

describe('a mark is found', () => {
  test.each([
    'id BigInt @id @default(dbgenerated())',
    'id BigInt @default( dbgenerated( ) ) @id',
    'id BigInt? @default(dbgenerated()) // comment',
    'id String @db.VarChar(20) @map("a") @default(dbgenerated()) @unique',
    '/// "\n  id String @default(dbgenerated())',
  ])('in `%s`', async (field) => {
    expect(await filledFields(`  other Int\n  ${field}\n  last Int @default(1)`)).toEqual(['id']);
  });

  it('on several fields', async () => {
    const mark = '@default(dbgenerated())';
    expect(await filledFields(`  a BigInt ${mark}\n  b Int\n  c String ${mark}`)).toEqual([
      'a',
      'c',
    ]);
  });
});
