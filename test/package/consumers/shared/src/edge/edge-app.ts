import { ValidationPipe, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { WsAdapter } from '@nestjs/platform-ws';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { API_KEY_SCHEME, apiKeyScheme } from 'nestjs-snowflake/api-keys/swagger';
import { EdgeModule } from './edge.module.js';

/** The application with every door for ids, on a free port, set up as applications are. */
export async function startEdgeApp(): Promise<{ app: INestApplication; url: string }> {
  const app = await NestFactory.create(EdgeModule, { logger: ['error', 'warn'] });
  app.useGlobalPipes(new ValidationPipe({ transform: true, whitelist: true }));
  const head = new DocumentBuilder().addSecurity(API_KEY_SCHEME, apiKeyScheme());
  const document = SwaggerModule.createDocument(app, head.build());
  SwaggerModule.setup('docs', app, document, { jsonDocumentUrl: 'openapi.json' });
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, '127.0.0.1');
  return { app, url: await app.getUrl() };
}
