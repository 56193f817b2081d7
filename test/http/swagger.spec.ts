/**
 * The decorators in an OpenAPI document that Nest makes of a real application.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Get, Module, Param, Post, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { layouts } from 'nestjs-snowflake';
import { ParseSnowflakePipe } from '../../lib/http/index.js';
import {
  ApiSnowflakeParam,
  ApiSnowflakeProperty,
  ApiSnowflakeQuery,
} from '../../lib/http/swagger.js';

class Order {
  @ApiSnowflakeProperty({ readOnly: true })
  id: string;

  @ApiSnowflakeProperty({ description: 'Who gets it', nullable: true, required: false })
  receiverId: bigint | null;

  @ApiSnowflakeProperty({ isArray: true, example: '42' })
  lineIds: string[];
}

@Controller('orders')
class Orders {
  @Get(':id')
  @ApiSnowflakeParam('id', { description: 'The order' })
  one(@Param('id', ParseSnowflakePipe) id: bigint) {
    return { id };
  }

  @Get()
  @ApiSnowflakeQuery('after', { required: false, deprecated: true })
  @ApiSnowflakeQuery('not', { isArray: true })
  page(@Query('after') after?: bigint, @Query('not') not?: string[]) {
    return { after, not };
  }

  @Post()
  create(@Body() order: Order) {
    return order;
  }
}

@Module({ controllers: [Orders] })
class App {}

const ID = {
  type: 'string',
  format: 'int64',
  pattern: '^(0|[1-9]\\d{0,18})$',
  example: '382366441078288384',
};

describe('the document', () => {
  let api: OpenAPIObject;
  beforeAll(async () => {
    const app = await NestFactory.create(App, { logger: false });
    api = SwaggerModule.createDocument(app, new DocumentBuilder().build());
    await app.close();
  });
  const parametersOf = (path: string) => api.paths[path]!.get!.parameters as object[];

  it('shows an id in the path as text, though the handler takes a bigint', () => {
    expect(parametersOf('/orders/{id}')).toEqual([
      { name: 'id', in: 'path', required: true, description: 'The order', schema: ID },
    ]);
  });

  it('shows ids in the query, one or several', () => {
    const description = expect.stringMatching(/decimal text/);
    const { example, ...items } = ID;
    const list = { type: 'array', items, example: [example] };
    expect(parametersOf('/orders')).toHaveLength(2);
    expect(parametersOf('/orders')).toEqual(
      expect.arrayContaining([
        { name: 'after', in: 'query', required: false, deprecated: true, description, schema: ID },
        { name: 'not', in: 'query', required: true, description, schema: list },
      ]),
    );
  });

  it('shows properties that are ids, or lists of ids', () => {
    const description = expect.stringMatching(/decimal text/);
    expect(api.components!.schemas!['Order']).toEqual({
      type: 'object',
      required: ['id', 'lineIds'],
      properties: {
        id: { ...ID, description, readOnly: true },
        receiverId: { ...ID, description: 'Who gets it', nullable: true },
        lineIds: { type: 'array', description, items: { ...ID, example: '42' } },
      },
    });
  });

  it('shows no schema that is a bigint', () => {
    expect(Object.keys(api.components!.schemas!)).toEqual(['Order']);
  });

  it('shows a real id as its example', () => {
    const { timestampMs } = layouts.snowflake().parse(ID.example);
    expect(timestampMs).toBeGreaterThan(Date.parse('2026-01-01'));
    expect(ID.example).toMatch(new RegExp(ID.pattern));
  });
});
