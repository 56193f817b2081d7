/**
 * The OpenAPI document: for people at /docs, for client generators at /docs-json.
 */
import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';

export function serveOpenApi(app: INestApplication): void {
  const head = new DocumentBuilder()
    .setTitle('Shop')
    .setDescription(
      'Customers and their orders. Every id is text. Ids of customers and orders are ordered by time; of invoices they are dense.',
    )
    .setVersion('1.0')
    .build();
  SwaggerModule.setup('docs', app, () => SwaggerModule.createDocument(app, head));
}
