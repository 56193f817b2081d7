/**
 * The name of a lock, made of texts of others.
 *
 * Promise: whatever they hold, it is a name, and that of no other texts where : or / stands between
 * them.
 */
import { createHash } from 'node:crypto';
import { SnowflakeError } from '../errors.js';
import { shown } from '../shown.js';

const LENGTH_MAX = 128;
const DIGEST_LENGTH = 64;
/** What no name may hold, what stands between parts, and what looks like one that is missing. */
const ESCAPED = /[\s\p{C}|%:/]|undefined|null|NaN/gu;

/**
 * The name of a lock by a template: any text can stand in it, of any length, and none that is
 * missing.
 *
 * @throws SnowflakeError ARGUMENT_INVALID for a part that is undefined, null, NaN, empty, or
 *   neither text nor number, since the lock of all who have none would be one; and for half of a
 *   surrogate pair, since all halves are one in UTF-8
 * @example
 * ```ts
 * import { Locked, lockKey } from 'nestjs-snowflake/lock';
 *
 * const keyOf = (mail: string) => lockKey`mail:${mail}`;
 * export class Mails {@Locked(keyOf) async send(mail: string) {}}
 * ```
 */
export function lockKey(
  texts: TemplateStringsArray,
  ...parts: readonly (string | number | bigint)[]
): string {
  for (const [at, part] of parts.entries()) check(part, at + 1);
  const name = texts.map((text, at) => text + escaped(String(parts[at] ?? ''))).join('');
  if (name.length <= LENGTH_MAX) return name;
  const digest = createHash('sha256').update(name).digest('hex');
  // Half of a surrogate pair would be no character.
  const start = name.slice(0, LENGTH_MAX - DIGEST_LENGTH - 1).replace(/\p{Cs}$/u, '');
  return `${start}~${digest}`;
}

function isPart(part: unknown): boolean {
  return typeof part === 'number' ? !Number.isNaN(part) : typeof part === 'bigint' || isText(part);
}

function isText(part: unknown): boolean {
  return typeof part === 'string' && part !== '';
}

/** As in a URL, byte by byte. */
function escaped(part: string): string {
  return part.replace(ESCAPED, (found) => {
    return Buffer.from(found).toString('hex').replaceAll(/../g, '%$&');
  });
}

function check(part: unknown, number: number): void {
  const at = typeof part === 'string' ? part.search(/\p{Cs}/u) : -1;
  if (isPart(part) && at < 0) return;
  const fault =
    at < 0
      ? `is ${shown(part)}, and everybody without it would wait for each other. Nothing was ` +
        'done. Give a text that is not empty, or a number.'
      : `has half of a surrogate pair at ${at + 1}, and all halves are one in UTF-8. Nothing was ` +
        'done. Give whole characters.';
  throw new SnowflakeError('ARGUMENT_INVALID', `Part ${number} of the key of a lock ${fault}`);
}
