/**
 * From the options `layout` and `epoch` to the layout itself, also in a thread that shares a lease:
 * that one's is the layout of the lease.
 */
import { BitLayout } from '../core/layout/bit-layout.js';
import type { Epoch } from '../core/layout/epoch.js';
import type { FieldSpec } from '../core/layout/layout-fields.js';
import { layouts } from '../core/layout/presets.js';
import { sharedLayout, type SharedLease } from '../core/seat/shared-lease.js';
import { shown } from '../shown.js';
import { collect, invalid } from './config-faults.js';

/** Those of the options that decide it. */
interface LayoutOptions {
  readonly layout?: BitLayout | readonly FieldSpec[];
  readonly epoch?: Epoch;
  readonly aheadMsMax?: number;
}

export function resolveLayout(options: LayoutOptions, faults: string[]): BitLayout {
  const { layout, epoch } = options;
  return collect(faults, layouts.snowflake(), () => {
    if (layout === undefined) return layouts.snowflake({ epoch });
    if (Array.isArray(layout)) return new BitLayout({ epoch, fields: layout as FieldSpec[] });
    if (!isLayout(layout)) {
      throw invalid([`Expected \`layout\` to be a BitLayout or its fields, got ${shown(layout)}.`]);
    }
    return epoch === undefined ? layout : layout.withEpoch(epoch);
  });
}

/** By its face, since it may come from a second copy of this package. */
function isLayout(value: unknown): value is BitLayout {
  const candidate = value as Partial<BitLayout> | null;
  return typeof candidate?.fingerprint === 'string' && typeof candidate.withEpoch === 'function';
}

/** A thread that shares a lease uses the layout of that lease; it need not name one. */
export function joinLayout(
  options: LayoutOptions,
  shared: SharedLease,
  ownLayout: BitLayout,
  faults: string[],
): BitLayout {
  const layout = sharedLayout(shared);
  const isNamed = options.layout !== undefined || options.epoch !== undefined;
  if (isNamed && ownLayout.fingerprint !== layout.fingerprint) {
    faults.push(
      `The shared lease is for layout ${layout.fingerprint}, but this thread is configured for ` +
        `${ownLayout.fingerprint}. Leave \`layout\` and \`epoch\` out, or give the same ones.`,
    );
  }
  const { aheadMsMax = shared.aheadMsMax } = options;
  if (aheadMsMax !== shared.aheadMsMax) {
    faults.push(
      `Expected \`aheadMsMax\` to be ${shared.aheadMsMax ?? 'left out'}, as in the thread that ` +
        `holds the lease, got ${shown(aheadMsMax)}. Threads that share a lease share their ` +
        `run-ahead; leave it out.`,
    );
  }
  return layout;
}
