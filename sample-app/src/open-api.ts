/**
 * The OpenAPI document: for people at /docs, for client generators at /docs-json.
 */
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';

export function serveOpenApi(app: INestApplication): void {
  const head = new DocumentBuilder()
    .setTitle('Shop')
    .setDescription(
      'Customers, their orders and invoices. Every id is text. Those of customers and orders are ' +
        'ordered by time; those of invoices are small numbers.',
    )
    .setVersion('1.0')
    .addBasicAuth()
    .addBearerAuth({ type: 'http', bearerFormat: 'API key' }, 'apiKey')
    .build();
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, head));
}
