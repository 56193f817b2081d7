/**
 * A holder as a line of the registry names it.
 *
 * Promise: one line that cannot be read hides no other, and is shown as unreadable. Parts are short
 * enough for a table; what they say is whatever somebody wrote.
 */
import type { WorkerRecord } from '../../../lease/distributed-support.js';
import { labelOf } from '../../../registry/holder-label.js';
import type { HolderProof } from '../../../registry/registry-view.js';

type Holder = NonNullable<WorkerRecord['holder']>;

/** token|nonce|floor|era|since|label, the label as JSON. */
const HOLDER = /^[^|]*\|[^|]*\|\d+\|\d+\|(\d{1,15})\|(.*)$/s;

/** What is needed of it to speak in the holder's name. */
const PROOF = /^([^|]*)\|([^|]*)\|/;

export function proofIn(line: string | undefined): HolderProof | undefined {
  const [, token, nonce] = PROOF.exec(line ?? '') ?? [];
  return token === undefined || nonce === undefined ? undefined : { token, nonce };
}

/** Undefined where nobody holds it. */
export function holderIn(line: string | undefined): Holder | undefined {
  if (line === undefined) return undefined;
  const [, since = '0', label = ''] = HOLDER.exec(line) ?? [];
  return { ...labelOf(valueOf(label)), sinceMs: Number(since) };
}

function valueOf(label: string): unknown {
  try {
    return JSON.parse(label);
  } catch {
    return undefined;
  }
}
