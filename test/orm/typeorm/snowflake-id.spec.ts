/** What the decorator declares, and what it refuses without a database. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestingModule } from '@nestjs/testing';
import {
  Column,
  DataSource,
  Entity,
  JoinColumn,
  OneToOne,
  Equal,
  In,
  Not,
  type FindOperator,
} from 'typeorm';
import {
  SnowflakeId,
  hookDataSource,
  type SnowflakeIdOptions,
  idText,
} from 'nestjs-snowflake/typeorm';
import fc from 'fast-check';
import { startApplication } from './support/databases.js';

@Entity()
class Account {
  @SnowflakeId({ name: 'account_id', comment: 'never reused' })
  id: string;

  @SnowflakeId({ type: 'varchar', primary: false, unique: true, length: 32 })
  publicId: string;
}

@Entity()
class User {
  @SnowflakeId({ type: 'varchar' })
  id: string;

  @SnowflakeId({ type: 'varchar', primary: false })
  stamp: string;

  @Column({ default: '' })
  name: string;
}

/** A profile with the same ID as its user. */
@Entity()
class Profile {
  @SnowflakeId({ type: 'varchar' })
  id: string;

  @OneToOne(() => User, { cascade: true })
  @JoinColumn({ name: 'id' })
  user: User;
}

let application: TestingModule;
let dataSource: DataSource;

beforeAll(async () => {
  application = await startApplication({});
  const entities = [Account, User, Profile];
  dataSource = new DataSource({ type: 'sqljs', entities, synchronize: true });
  hookDataSource(await dataSource.initialize());
});
afterAll(async () => {
  await dataSource.destroy();
  await application.close();
});

describe('the column', () => {
  const columnOf = (target: Function, property: string) =>
    dataSource.getMetadata(target).findColumnWithPropertyName(property)!;

  it('is a primary bigint that updates do not change, and passes on other options', () => {
    expect(columnOf(Account, 'id')).toMatchObject({
      type: 'bigint',
      isPrimary: true,
      isUpdate: false,
      databaseName: 'account_id',
      comment: 'never reused',
    });
  });

  it('is a string of 20 characters with { type: varchar }', () => {
    expect(columnOf(User, 'id')).toMatchObject({ type: 'varchar', length: '20', isPrimary: true });
  });

  it('is an ordinary column with { primary: false }', () => {
    const ordinary = { isPrimary: false, isUpdate: true, isNullable: false, length: '32' };
    expect(columnOf(Account, 'publicId')).toMatchObject(ordinary);
  });
});

describe('the entity', () => {
  it('does not show the listener in its keys, its JSON and in for-in', () => {
    const account = new Account();
    const keys: string[] = [];
    for (const key in account) keys.push(key);
    expect(keys.toSorted()).toEqual(['id', 'publicId']);
    expect(JSON.stringify(Object.assign(account, { id: '1' }))).toBe('{"id":"1"}');
  });

  it('keeps its primary ID but allows changes of other IDs', async () => {
    const users = dataSource.getRepository(User);
    const { id } = await users.save({ name: 'before' });
    await expect(users.update({ id }, { id: '1' })).rejects.toThrow('values are not defined');
    await users.update({ id }, { stamp: '1' });
    expect(await users.findOneByOrFail({ id })).toMatchObject({ id, stamp: '1' });
  });

  it('takes the ID of its relation if both share a key', async () => {
    const profiles = dataSource.getRepository(Profile);
    const user = await dataSource.getRepository(User).save({ name: 'first' });
    const plain = await profiles.save({ user });
    expect(plain.id).toBe(user.id);
    const cascaded = await profiles.save(profiles.create({ user: { name: 'second' } }));
    expect(cascaded.id).toBe(cascaded.user.id);
  });
});

describe('an invalid declaration is refused when the class is loaded', () => {
  const refusal = (message: RegExp) => ({
    name: 'SnowflakeError',
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(message),
    details: { property: 'Wrong.id' },
  });
  const errorOf = (load: () => unknown): unknown => {
    try {
      return load();
    } catch (error) {
      return error;
    }
  };

  it('with a property of type number', () => {
    const load = () => {
      class Wrong {
        // @ts-expect-error The compiler refuses this as well.
        @SnowflakeId()
        id: number;
      }
      return Wrong;
    };
    expect(errorOf(load)).toMatchObject(refusal(/declared as number.*`id: string`/));
  });

  it('with a property of type bigint', () => {
    const load = () => {
      class Wrong {
        // @ts-expect-error The compiler refuses this as well.
        @SnowflakeId()
        id: bigint;
      }
      return Wrong;
    };
    expect(errorOf(load)).toMatchObject(refusal(/declared as bigint.*`id: string`/));
  });

  it.each([
    [{ type: 'int' }, /'bigint' or 'varchar', got "int"/],
    [{ nullable: true }, /cannot be `nullable`/],
    [{ maker: 'tickets' } as object, /`maker` is called `generator` now/],
  ])('with the options %p', (options, message) => {
    const load = () => {
      class Wrong {
        @SnowflakeId(options as SnowflakeIdOptions)
        id: string;
      }
      return Wrong;
    };
    expect(errorOf(load)).toMatchObject(refusal(message));
  });
});

// The transformer: the same digits in the entity and in the database, or an error.
describe('the string form of an ID', () => {
  const MAX_ID = 2n ** 63n - 1n;
  const refusal = (value: unknown) => ({
    name: 'SnowflakeError',
    code: 'ID_INVALID',
    details: { value },
  });
  const errorOf = (run: () => unknown): unknown => {
    try {
      return `no error but ${String(run())}`;
    } catch (error) {
      return error;
    }
  };

  describe('to the database', () => {
    it('every ID is sent as its decimal string, in any form, and comes back the same', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: MAX_ID }), (id) => {
          expect(idText.to(id)).toBe(String(id));
          expect(idText.to(String(id))).toBe(String(id));
          expect(idText.from(idText.to(id))).toBe(String(id));
        }),
      );
    });

    it('safe numbers, null, undefined, lists and SQL expressions are accepted', () => {
      expect(idText.to(42)).toBe('42');
      expect(idText.to(0)).toBe('0');
      expect(idText.to(null)).toBeNull();
      expect(idText.to(undefined)).toBeUndefined();
      expect(idText.to([1n, '2'])).toEqual(['1', '2']);
      const expression = () => 'nextval()';
      expect(idText.to(expression)).toBe(expression);
    });

    it('each value inside an operator is converted', () => {
      expect((idText.to(In([1n, '2'])) as FindOperator<unknown>).value).toEqual(['1', '2']);
      expect((idText.to(Not(Equal(3n))) as FindOperator<unknown>).value).toBe('3');
      expect(errorOf(() => idText.to(Equal('abc')) as unknown)).toMatchObject(refusal('abc'));
    });

    it.each([2 ** 53, -1, 0.5, NaN, -1n, MAX_ID + 1n, '', ' 1', '1e3', '0x1f', '٣', {}, true])(
      '%p is refused, with the value',
      (value) => {
        expect(errorOf(() => idText.to(value))).toMatchObject(refusal(value));
      },
    );
  });

  describe('from the database', () => {
    it('text, bigint and safe numbers become strings, and null and undefined do not change', () => {
      expect(idText.from('911704225635921921')).toBe('911704225635921921');
      expect(idText.from(911704225635921921n)).toBe('911704225635921921');
      expect(idText.from(42)).toBe('42');
      expect(idText.from(null)).toBeNull();
      expect(idText.from(undefined)).toBeUndefined();
    });

    it('an ID above 2^53 that was read as a number is always refused', () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 2n ** 53n, max: MAX_ID }), (id) => {
          const lost = Number(id);
          expect(errorOf(() => idText.from(lost))).toMatchObject(refusal(lost));
        }),
      );
    });

    it('the error names the value and the setting of each driver', () => {
      const { message } = errorOf(() => idText.from(Number('911704225635921921'))) as Error;
      expect(message).toContain('911704225635921900');
      expect(message).toContain('parseInt8');
      expect(message).toContain('supportBigNumbers');
      expect(message).toContain("{ type: 'varchar' }");
    });
  });
});
