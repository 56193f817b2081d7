/**
 * Base 62 for API keys: the digits, and 256 bits as text of one width.
 *
 * Promise: equal bytes have equal texts and different bytes different ones. No BigInt is made: the
 * number is divided by 62^5 in limbs of 16 bits, so that every step is an exact double.
 */
import { RadixDigits } from '../../core/text/radix-digits.js';
import { BASE_62 } from '../../core/text/text-forms.js';

/** As many bytes as SHA-256 has, and a random secret. */
export const SECRET_BYTES = 32;
/** 62^43 is just above 2^256. */
export const SECRET_WIDTH = 43;

export const digits = new RadixDigits(BASE_62);

const LIMB = 2 ** 16;
const PART_WIDTH = 5;
const PART = 62 ** PART_WIDTH;
const PART_COUNT = Math.ceil(SECRET_WIDTH / PART_WIDTH);

/** 43 characters for 32 bytes. */
export function base62Of(bytes: Uint8Array): string {
  const limbs = new Float64Array(SECRET_BYTES / 2);
  for (let at = 0; at < limbs.length; at++) limbs[at] = bytes[2 * at]! * 256 + bytes[2 * at + 1]!;
  let text = '';
  for (let part = 0; part < PART_COUNT; part++) text = partText(dividedByPart(limbs)) + text;
  return text.slice(-SECRET_WIDTH);
}

/** Divides the number in place. @returns what is left over */
function dividedByPart(limbs: Float64Array): number {
  let rest = 0;
  for (let at = 0; at < limbs.length; at++) {
    const value = rest * LIMB + limbs[at]!;
    const quotient = Math.floor(value / PART);
    rest = value - quotient * PART;
    limbs[at] = quotient;
  }
  return rest;
}

const partText = (part: number): string => digits.textOf(0, part).padStart(PART_WIDTH, '0');
