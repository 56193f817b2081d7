/**
 * What every driver must do with `@SnowflakeId()` columns, on each database.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  And,
  Between,
  Equal,
  In,
  IsNull,
  LessThanOrEqual,
  MoreThan,
  Not,
  Raw,
  type DataSource,
  type DeepPartial,
  type ObjectLiteral,
} from 'typeorm';
import { layouts } from 'nestjs-snowflake';
import {
  WORKER_ID,
  startWithDatabase,
  type Running,
  shopEntities,
  parcelEntities,
  paymentEntities,
  mariadb,
  pglite,
  postgres,
  sqljs,
} from './support/databases.js';

const ROWS = 10_000;
/** Above 2^53, odd, and from a seed or another system. */
const PRESET = '911704225635921921';

const workerOf = (id: unknown): number | undefined =>
  layouts.snowflake().parse(id as string).workerId;

let emails = 0;
const newEmail = (): string => `customer-${emails++}@shop.test`;

describe.each([mariadb, pglite, postgres, sqljs])('$name', (driver) => {
  const { Customer, Order, OrderLine, Tag } = shopEntities(driver.idType);
  const { Payment, CardPayment, BankPayment } = paymentEntities(driver.idType);
  const { Parcel, Label } = parcelEntities(driver.idType);
  const entities = [Customer, Order, OrderLine, Tag, Payment, CardPayment, BankPayment, Parcel];
  let running: Running;
  let database: DataSource;

  beforeAll(async () => {
    running = await startWithDatabase(driver, entities);
    database = running.dataSource;
  }, 60_000);
  afterAll(() => running?.stop());

  const made = <T extends object>(Class: new () => T, values: Partial<T>): T =>
    Object.assign(new Class(), values);
  const customers = () => database.getRepository(Customer);
  const orders = () => database.getRepository(Order);
  const tags = () => database.getRepository(Tag);

  describe('a new row gets an ID', () => {
    it('after save(instance), and the property is the string that is read back', async () => {
      const tag = await tags().save(made(Tag, { label: 'instance' }));
      expect(workerOf(tag.id)).toBe(WORKER_ID);
      expect(await tags().findOneByOrFail({ label: 'instance' })).toEqual(tag);
    });

    it('after save(plain)', async () => {
      const tag = await tags().save({ label: 'plain' });
      expect(workerOf(tag.id)).toBe(WORKER_ID);
      expect(await tags().findOneByOrFail({ id: tag.id })).toMatchObject({ label: 'plain' });
    });

    it.each([
      ['a bigint', 8n],
      ['text', '9'],
    ])('or keeps the ID given as %s, which then is a string', async (_kind, id) => {
      const given = { id: id as string, label: `given ${id}` };
      expect((await tags().save(given)).id).toBe(String(id));
      expect(await tags().findOneByOrFail({ label: `given ${id}` })).toMatchObject(given);
    });

    it.each([7, Number(PRESET)])('unless its ID is given as the number %d', async (number) => {
      const id = number as unknown as string;
      const text = { id: '7', label: 'text' };
      await tags().save(text);
      const label = 'a number';
      // The last two would search for the row by the string and not find it.
      for (const write of [
        () => tags().insert({ id, label }),
        () => database.createQueryBuilder().insert().into(Tag).values({ id, label }).execute(),
        () => tags().save({ id, label }),
        () => tags().save(made(Tag, { id, label })),
      ]) {
        await expect(write()).rejects.toMatchObject({ code: 'ID_INVALID' });
      }
      expect(await tags().countBy({ label })).toBe(0);
      await tags().delete(text);
    });

    it.each(['plain', 'instance'])('after insert(%s)', async (kind) => {
      const label = `insert ${kind}`;
      await tags().insert(kind === 'plain' ? { label } : made(Tag, { label }));
      const { id } = await tags().findOneByOrFail({ label });
      expect(workerOf(id)).toBe(WORKER_ID);
    });

    it(`after insert() of ${ROWS} plain objects, in their order`, async () => {
      const rows: { id?: string; label: string }[] = Array.from({ length: ROWS }, (_, row) => ({
        label: `bulk ${String(row).padStart(5, '0')}`,
      }));
      await tags().insert(rows);
      const read = await tags()
        .createQueryBuilder('tag')
        .where('tag.label LIKE :bulk', { bulk: 'bulk %' })
        .orderBy('tag.id')
        .getMany();
      expect(new Set(read.map(({ id }) => id)).size).toBe(ROWS);
      expect(read.map(({ id, label }) => ({ id, label }))).toEqual(rows);
    });

    it.each(['plain', 'instance'])('after values(%s) of a query builder', async (kind) => {
      const labels = [`builder ${kind} 1`, `builder ${kind} 2`];
      const values = labels.map((label) => (kind === 'plain' ? { label } : made(Tag, { label })));
      await database.createQueryBuilder().insert().into(Tag).values(values).execute();
      for (const { id } of await tags().findBy({ label: In(labels) }))
        expect(workerOf(id)).toBe(WORKER_ID);
      expect(await tags().countBy({ label: In(labels) })).toBe(2);
    });

    it('only if a list of columns includes the key', async () => {
      const insert = () => database.createQueryBuilder().insert();
      const without = { label: 'columns without' };
      await expect(insert().into(Tag, ['label']).values(without).execute()).rejects.toThrow(
        /null value|NOT NULL|default value/,
      );
      expect(await tags().countBy(without)).toBe(0);
      const named = { label: 'columns with' };
      await insert().into(Tag, ['id', 'label']).values(named).execute();
      expect(workerOf((await tags().findOneByOrFail(named)).id)).toBe(WORKER_ID);
    });

    it.each(['plain', 'instance'])('after upsert(%s) that finds no row', async (kind) => {
      const email = newEmail();
      const row: { email: string } = kind === 'plain' ? { email } : made(Customer, { email });
      await customers().upsert(row, ['email']);
      const { id } = await customers().findOneByOrFail({ email });
      expect(workerOf(id)).toBe(WORKER_ID);
    });

    it('with single-table inheritance, only in the columns of its own class', async () => {
      await database.getRepository(CardPayment).insert({ amount: 1 });
      const card = await database.getRepository(CardPayment).findOneByOrFail({ amount: 1 });
      expect(workerOf(card.id)).toBe(WORKER_ID);
      expect(workerOf(card.cardReference)).toBe(WORKER_ID);
      const bank: ObjectLiteral = await database.getRepository(BankPayment).save({ amount: 2 });
      expect(workerOf(bank['id'])).toBe(WORKER_ID);
      const plain: ObjectLiteral = await database.getRepository(Payment).save({ amount: 3 });
      expect(Object.keys(plain)).not.toContain('cardReference');
    });

    it.each([
      ['an instance', () => made(Parcel, { label: made(Label, { text: 'an instance' }) })],
      ['a plain object', () => ({ label: { text: 'a plain object' } })],
    ])('in an embedded class of %s', async (text, row) => {
      await database.getRepository(Parcel).save(row() as DeepPartial<InstanceType<typeof Parcel>>);
      const parcel = await database.getRepository(Parcel).findOneByOrFail({ label: { text } });
      expect(workerOf(parcel.label.number)).toBe(WORKER_ID);
      expect(parcel.label.number).not.toBe(parcel.id);
    });
  });

  describe('relations', () => {
    const graph = () => ({
      email: newEmail(),
      orders: [
        { note: 'first', lines: [{ product: 'a' }, { product: 'b' }], tags: [{ label: 'gift' }] },
        { note: 'second', lines: [], tags: [] },
      ],
    });
    const wholeOrder = { customer: true, lines: true, tags: true };

    it.each(['plain', 'instances'])('cascade from one to many, %s', async (kind) => {
      const given = kind === 'plain' ? graph() : customers().create(graph());
      const { email } = await customers().save(given);
      const first = await orders().findOneOrFail({
        where: { customer: { email }, note: 'first' },
        relations: wholeOrder,
      });
      expect(first.customer.id).toBe((given as ObjectLiteral)['id']);
      expect(first.customerId).toBe(first.customer.id);
      expect(first.lines.map(({ product }) => product).toSorted()).toEqual(['a', 'b']);
      expect(first.tags).toEqual([{ id: expect.any(String), label: 'gift' }]);
    });

    it('cascade from many to one, and are read by joins and loadRelationIds', async () => {
      const saved = await orders().save({ note: 'up', customer: { email: newEmail() } });
      const { id } = saved.customer;
      const joined = await orders()
        .createQueryBuilder('o')
        .innerJoinAndSelect('o.customer', 'customer')
        .where('customer.id = :id', { id })
        .getOneOrFail();
      expect(joined.customer).toMatchObject(saved.customer);
      const byIds = await orders().findOneOrFail({
        where: { customer: { id } },
        loadRelationIds: true,
      });
      expect(byIds.customer).toBe(id);
    });

    it('refuse a number that lost digits', async () => {
      const { id } = await orders().save({ note: 'exact' });
      const lost = Number(id);
      const ways: (() => Promise<unknown>)[] = [
        () => orders().findOneBy({ id: lost as never }),
        () => orders().find({ where: { customer: { id: lost as never } } }),
        () => orders().createQueryBuilder('o').where('o.id = :id', { id: lost }).getOne(),
        () =>
          orders()
            .createQueryBuilder('o')
            .where('o.id IN (:...ids)', { ids: [lost] })
            .getMany(),
        () =>
          orders().createQueryBuilder('o').where('o.id = :id').setParameter('id', lost).getOne(),
        () => orders().createQueryBuilder('o').whereInIds([lost]).getMany(),
        () => orders().createQueryBuilder().delete().where('id = :id', { id: lost }).execute(),
        () => orders().createQueryBuilder().relation('lines').of(lost).loadMany(),
        () => orders().delete(lost),
      ];
      // SQLite compares text IDs with the digits of a number, and no row matches.
      if (driver === sqljs) ways.splice(1);
      for (const way of ways) {
        const asked = async () => [String(way), await way()];
        await expect(asked()).rejects.toMatchObject({
          code: 'ID_INVALID',
        });
      }
      expect(await orders().findOneBy({ id })).toMatchObject({ note: 'exact' });
    });

    it('add and remove members, and their rows can be deleted', async () => {
      const { orders: given, email } = await customers().save(customers().create(graph()));
      const order = await orders().findOneOrFail({
        where: { id: given[0]!.id },
        relations: wholeOrder,
      });
      const [gift] = order.tags;
      order.tags = [made(Tag, { label: 'swapped in' })];
      await orders().save(order);
      const again = await orders().findOneOrFail({
        where: { id: order.id },
        relations: wholeOrder,
      });
      expect(again.tags).toEqual([{ id: order.tags[0]!.id, label: 'swapped in' }]);
      expect(await tags().existsBy({ id: gift!.id })).toBe(true);
      await database.getRepository(OrderLine).remove(again.lines);
      await orders().remove(await orders().findBy({ customer: { email } }));
      expect(await orders().countBy({ customer: { email } })).toBe(0);
    });
  });

  describe('an existing ID', () => {
    it('is kept by save, insert and the query builder', async () => {
      const labels = ['preset 1', 'preset 2', 'preset 3'];
      await tags().save({ id: PRESET, label: labels[0]! });
      await tags().insert({ id: '42', label: labels[1]! });
      const maximum = String(2n ** 63n - 1n);
      const values = { id: maximum, label: labels[2]! };
      await database.createQueryBuilder().insert().into(Tag).values(values).execute();
      const read = await tags().find({ where: { label: In(labels) }, order: { label: 'ASC' } });
      expect(read.map(({ id }) => id)).toEqual([PRESET, '42', maximum]);
    });

    it('is stored exactly if given as a bigint, and the property becomes a string', async () => {
      const id = (BigInt(PRESET) + 2n) as unknown as string;
      const tag = await tags().save({ id, label: 'bigint' });
      expect(tag.id).toBe('911704225635921923');
      expect(await tags().findOneByOrFail({ label: 'bigint' })).toMatchObject(tag);
    });

    it('is kept after a read, a change and a save, without a second row', async () => {
      await tags().save({ id: '911704225635921925', label: 'before' });
      const tag = await tags().findOneByOrFail({ label: 'before' });
      const count = await tags().count();
      await tags().save(Object.assign(tag, { label: 'after' }));
      expect(await tags().count()).toBe(count);
      expect(await tags().findOneByOrFail({ id: '911704225635921925' })).toEqual(tag);
    });

    it('is not changed by upserts, whatever ID the object has', async () => {
      const email = newEmail();
      const { id } = await customers().save({ email });
      const row: { id?: string; email: string; name: string } = { email, name: 'second' };
      await customers().upsert(row, ['email']);
      expect(row.id).not.toBe(id);
      await customers().upsert([{ ...row, name: 'third' }], ['email']);
      expect(await customers().findOneByOrFail({ email })).toMatchObject({ id, name: 'third' });
    });

    it.each([
      ['a word', 'abc'],
      ['an empty string', ''],
      ['a negative number', '-1'],
      ['not canonical', '007'],
      ['too large', '9223372036854775808'],
      ['an unsafe number', Number(PRESET)],
    ])('is refused if it is %s', async (_, wrong) => {
      const id = wrong as string;
      const refusal = { name: 'SnowflakeError', code: 'ID_INVALID', details: { value: wrong } };
      await expect(tags().insert({ id, label: 'x' })).rejects.toMatchObject(refusal);
      await expect(tags().findOneBy({ id })).rejects.toMatchObject(refusal);
      await expect(tags().findBy({ id: In(['1', id]) })).rejects.toMatchObject(refusal);
    });
  });

  it('find operators accept IDs as strings and as bigints', async () => {
    const rows = await tags().save(['o1', 'o2', 'o3', 'o4'].map((label) => ({ label })));
    const [first, second, third, fourth] = rows.map(({ id }) => id) as [
      string,
      string,
      string,
      string,
    ];
    const found = async (id: unknown): Promise<string[]> => {
      const where = { id: And(id as ReturnType<typeof Equal<string>>, In([first, second, third])) };
      return (await tags().find({ where, order: { id: 'ASC' } })).map((tag) => tag.id);
    };
    expect(await found(In([BigInt(third), fourth]))).toEqual([third]);
    expect(await found(Between(BigInt(first), BigInt(second)))).toEqual([first, second]);
    expect(await found(MoreThan(first))).toEqual([second, third]);
    expect(await found(LessThanOrEqual(second))).toEqual([first, second]);
    expect(await found(Not(Equal(first)))).toEqual([second, third]);
    expect(await found(Not(IsNull()))).toEqual([first, second, third]);
    expect(await found(Raw((id) => `${id} > :second`, { second }))).toEqual([third]);
    expect((await tags().findOneByOrFail({ id: BigInt(fourth) as unknown as string })).id).toBe(
      fourth,
    );
  });

  it('migration:generate finds no change in the schema', async () => {
    const { upQueries, downQueries } = await database.driver.createSchemaBuilder().log();
    expect([...upQueries, ...downQueries].map(({ query }) => query)).toEqual([]);
  });

  describe('a row without an ID is refused for its null key', () => {
    it.each(['plain', 'instance'])('after save(%s, { listeners: false })', async (kind) => {
      const label = 'no listeners';
      const row = kind === 'plain' ? { label } : made(Tag, { label });
      const save = tags().save(row, { listeners: false });
      await expect(save).rejects.toThrow(/null value|default value|NOT NULL/);
      expect(await tags().countBy({ label })).toBe(0);
    });

    it('after raw SQL', async () => {
      const insert = database.query(`INSERT INTO tag (label) VALUES ('raw')`);
      await expect(insert).rejects.toThrow(/null value|default value|NOT NULL/);
    });
  });
});
