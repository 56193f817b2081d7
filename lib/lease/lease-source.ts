/**
 * Where the lease of a generator comes from: a support, or the thread that shares its own. Asked
 * once, when a generator is put together; after that a source is a value.
 */
import { isSharedLease, type SharedLease } from '../core/seat/shared-lease.js';
import type { IDistributedSupport } from './distributed-support.js';

export type LeaseSource =
  | { readonly kind: 'lease'; readonly support: IDistributedSupport }
  | { readonly kind: 'joined'; readonly shared: SharedLease };

/** The only place that looks at a support for more than it does, whichever copy made it. */
export function sourceOf(support: IDistributedSupport): LeaseSource {
  const { shared } = support as { readonly shared?: unknown };
  return isSharedLease(shared) ? { kind: 'joined', shared } : { kind: 'lease', support };
}
