/**
 * Orders and invoices over HTTP, and what is wrong with the numbers of all invoices there are.
 */
import type { ShopProcess } from './shop-process.js';

export interface ShownInvoice {
  readonly id: string;
  readonly number: string;
  readonly orderId: string;
}

export async function orderBy(
  shop: ShopProcess,
  customerId: string,
): Promise<{ id: string; publicId: string }> {
  const lines = [{ product: 'tea', quantity: 2, priceCents: 450 }];
  const { body } = await shop.post('/orders', { customerId, lines });
  return body as { id: string; publicId: string };
}

export function invoicesOf(answers: readonly { status: number; body: unknown }[]): ShownInvoice[] {
  return answers.filter(({ status }) => status === 201).map(({ body }) => body as ShownInvoice);
}

/** Which numbers of a day, from 1 to as many as it has, are missing or there twice. */
export function seriesIn(invoices: readonly ShownInvoice[]): string[] {
  const days = Map.groupBy(invoices, ({ number }) => number.slice(0, 'INV-20261122-'.length));
  return [...days].flatMap(([day, ofDay]) => {
    const found = ofDay.map(({ number }) => number).toSorted();
    const expected = found.map((_, n) => `${day}${String(n + 1).padStart(6, '0')}`);
    return found.filter((number, n) => number !== expected[n]);
  });
}
