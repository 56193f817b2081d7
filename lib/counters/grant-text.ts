/**
 * A grant as text: where it begins and a random text, so that no other grant, of before or after a
 * loss, has the same; and, for whoever holds it, the counter that it is of.
 */
import { numberIn } from '../registry/stored-fields.js';

export interface Grant {
  readonly first: bigint;
  readonly random: string;
}

/** As the store keeps it with its counter. */
export function grantText({ first, random }: Grant): string {
  return `${first}.${random}`;
}

export interface NamedGrant {
  readonly counter: string;
  /** As the store keeps it. */
  readonly text: string;
  readonly first: bigint;
}

const NAMED = /^((\d+)\.[^.|]+)\.(.+)$/s;

/** Undefined for what no store of ours has granted. */
export function namedGrant(grant: string): NamedGrant | undefined {
  const [, text, digits, counter] = NAMED.exec(grant) ?? [];
  const first = numberIn(digits);
  if (text === undefined || first === undefined || counter === undefined) return undefined;
  return { counter, text, first };
}
