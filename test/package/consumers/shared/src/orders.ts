import { Injectable } from '@nestjs/common';
import { IdMaker } from 'nestjs-snowflake';

/** Gets the IdMaker by the type of a constructor parameter, as an application does. */
@Injectable()
export class Orders {
  constructor(readonly idMaker: IdMaker) {}

  location(): bigint {
    return this.idMaker.nextId();
  }
}
