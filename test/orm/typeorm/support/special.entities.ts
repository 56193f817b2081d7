/**
 * Entities out of the ordinary: single-table inheritance, an id inside an embedded class, an id
 * that is no key.
 */
import { ChildEntity, Column, Entity, TableInheritance } from 'typeorm';
import { SnowflakeId } from 'nestjs-snowflake/typeorm';
import type { IdType } from './shop.entities.js';

export function paymentEntities(type: IdType) {
  @Entity()
  @TableInheritance({ column: { name: 'kind', type: 'varchar', length: 20 } })
  class Payment {
    @SnowflakeId({ type })
    id: string;

    @Column()
    amount: number;
  }

  @ChildEntity()
  class CardPayment extends Payment {
    @SnowflakeId({ type, primary: false, nullable: true })
    cardReference: string | null;
  }

  @ChildEntity()
  class BankPayment extends Payment {
    @Column({ nullable: true })
    iban: string;
  }

  return { Payment, CardPayment, BankPayment };
}

export function parcelEntities(type: IdType) {
  class Label {
    @SnowflakeId({ type, primary: false })
    number: string;

    @Column()
    text: string;
  }

  @Entity()
  class Parcel {
    @SnowflakeId({ type })
    id: string;

    @Column(() => Label)
    label: Label;
  }

  return { Parcel, Label };
}
