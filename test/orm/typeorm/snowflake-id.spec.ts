/** What the decorator declares, and what it refuses before there is any database. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TestingModule } from '@nestjs/testing';
import { Column, DataSource, Entity, JoinColumn, OneToOne } from 'typeorm';
import { SnowflakeId, hookDataSource, type SnowflakeIdOptions } from 'nestjs-snowflake/typeorm';
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

/** A profile has the id of its user. */
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

  it('is a primary bigint that no update changes; other options are passed on', () => {
    expect(columnOf(Account, 'id')).toMatchObject({
      type: 'bigint',
      isPrimary: true,
      isUpdate: false,
      databaseName: 'account_id',
      comment: 'never reused',
    });
  });

  it('is text of 20 characters with { type: varchar }', () => {
    expect(columnOf(User, 'id')).toMatchObject({ type: 'varchar', length: '20', isPrimary: true });
  });

  it('is an ordinary column with { primary: false }', () => {
    const ordinary = { isPrimary: false, isUpdate: true, isNullable: false, length: '32' };
    expect(columnOf(Account, 'publicId')).toMatchObject(ordinary);
  });
});

describe('the entity', () => {
  it('shows nothing of the listener in its keys, its JSON and in for-in', () => {
    const account = new Account();
    const keys: string[] = [];
    for (const key in account) keys.push(key);
    expect(keys.toSorted()).toEqual(['id', 'publicId']);
    expect(JSON.stringify(Object.assign(account, { id: '1' }))).toBe('{"id":"1"}');
  });

  it('keeps its primary id and may change the others', async () => {
    const users = dataSource.getRepository(User);
    const { id } = await users.save({ name: 'before' });
    await expect(users.update({ id }, { id: '1' })).rejects.toThrow('values are not defined');
    await users.update({ id }, { stamp: '1' });
    expect(await users.findOneByOrFail({ id })).toMatchObject({ id, stamp: '1' });
  });

  it('takes the id of its relation where the two share a key', async () => {
    const profiles = dataSource.getRepository(Profile);
    const user = await dataSource.getRepository(User).save({ name: 'first' });
    const plain = await profiles.save({ user });
    expect(plain.id).toBe(user.id);
    const cascaded = await profiles.save(profiles.create({ user: { name: 'second' } }));
    expect(cascaded.id).toBe(cascaded.user.id);
  });
});

describe('a declaration that cannot work is refused when the class is loaded', () => {
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

  it('a property of type number', () => {
    const load = () => {
      class Wrong {
        // @ts-expect-error What the compiler refuses too.
        @SnowflakeId()
        id: number;
      }
      return Wrong;
    };
    expect(errorOf(load)).toMatchObject(refusal(/declared as number.*`id: string`/));
  });

  it('a property of type bigint', () => {
    const load = () => {
      class Wrong {
        // @ts-expect-error What the compiler refuses too.
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
  ])('the options %p', (options, message) => {
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
