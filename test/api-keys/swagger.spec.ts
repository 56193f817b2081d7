/**
 * The scheme and the decorator in an OpenAPI document that Nest makes of a real application.
 */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Controller, Get, Module, UseGuards } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import { ApiKeyGuard, ApiKeyModule } from '../../lib/api-keys/index.js';
import { API_KEY_SCHEME, ApiKeySecurity, apiKeyScheme } from '../../lib/api-keys/swagger.js';

@Controller('orders')
@UseGuards(ApiKeyGuard)
@ApiKeySecurity()
class Orders {
  @Get()
  list() {}
}

@Controller('open')
class Open {
  @Get()
  list() {}

  @Get('guarded')
  @UseGuards(ApiKeyGuard)
  @ApiKeySecurity('partner')
  guarded() {}
}

@Module({
  imports: [ApiKeyModule.forRoot({ prefix: 'shop', find: () => undefined })],
  controllers: [Orders, Open],
})
class App {}

describe('the document', () => {
  let api: OpenAPIObject;
  beforeAll(async () => {
    const head = new DocumentBuilder()
      .addSecurity(API_KEY_SCHEME, apiKeyScheme({ prefix: 'shop' }))
      .addSecurity('partner', apiKeyScheme({ header: 'X-API-Key', description: 'For partners' }));
    const app = await NestFactory.create(App, { logger: false });
    api = SwaggerModule.createDocument(app, head.build());
    await app.close();
  });

  it('says where a key is sent: as a bearer token, or in a header of its own', () => {
    expect(api.components!.securitySchemes).toEqual({
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'API key',
        description: 'An API key, which begins with shop_.',
      },
      partner: {
        type: 'apiKey',
        in: 'header',
        name: 'X-API-Key',
        description: 'For partners',
      },
    });
  });

  it('says which routes need one, and what they answer without', () => {
    expect(api.paths['/orders']!.get).toMatchObject({
      security: [{ apiKey: [] }],
      responses: { 401: expect.any(Object), 503: expect.any(Object) },
    });
    expect(api.paths['/open/guarded']!.get!.security).toEqual([{ partner: [] }]);
    expect(api.paths['/open']!.get!.security).toBeUndefined();
  });
});
