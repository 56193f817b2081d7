import {
  Body,
  ClassSerializerInterceptor,
  Controller,
  Get,
  Param,
  Post,
  UseInterceptors,
} from '@nestjs/common';
import { SnowflakeText } from 'nestjs-snowflake/class-transformer';
import { IsSnowflakeId, IsSnowflakeIds } from 'nestjs-snowflake/class-validator';
import { ParseSnowflakePipe } from 'nestjs-snowflake/http';
import { ApiSnowflakeParam, ApiSnowflakeProperty } from 'nestjs-snowflake/swagger';

export class CreateCustomer {
  @ApiSnowflakeProperty()
  @IsSnowflakeId()
  referrerId: string;
}

class SeveralIds {
  @IsSnowflakeIds({ countMax: 2 })
  ids: string[];
}

class Customer {
  @ApiSnowflakeProperty({ readOnly: true })
  @SnowflakeText()
  readonly id: bigint;

  constructor(id: bigint) {
    this.id = id;
  }
}

/** Classes that are validated, documented and serialised by their decorators. */
@Controller('customers')
@UseInterceptors(ClassSerializerInterceptor)
export class CustomersController {
  @Post()
  create(@Body() customer: CreateCustomer): CreateCustomer {
    return customer;
  }

  @Post('several')
  several(@Body() several: SeveralIds): SeveralIds {
    return several;
  }

  @Get(':id')
  @ApiSnowflakeParam('id')
  one(@Param('id', ParseSnowflakePipe) id: bigint): Customer {
    return new Customer(id);
  }
}
