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

/** Numbers of a day that are there twice, or beyond how many the day has: so one is missing. */
export function gapsIn(invoices: readonly ShownInvoice[]): string[] {
  const counted = new Map<string, number>();
  return invoices
    .map(({ number }) => number)
    .toSorted()
    .filter((number) => {
      const day = number.slice(0, 'INV-20261122-'.length);
      const nth = (counted.get(day) ?? 0) + 1;
      counted.set(day, nth);
      return number !== `${day}${String(nth).padStart(6, '0')}`;
    });
}
