/**
 * What segments({...}) makes of its options.
 */
import { describe, expect, it } from '@jest/globals';
import { segmentTerms, type SegmentOptions } from '../../lib/counters/segments/segment-options.js';
import { CountingStore } from './counting-store.js';

const termsOf = (options: Partial<SegmentOptions> = {}) =>
  segmentTerms({ store: new CountingStore(), counter: 'order', ...options });

/** The keeper has three steps in hand at most. */
const STEPS_IN_HAND = 3n;

describe('the default of skip', () => {
  it.each([{}, { stepMax: 10 }, { stepMax: 1000 }, { stepMin: 1_000_000 }, { stepMin: 1 }])(
    'is more than 1024 processes have in hand at the smallest step, %o',
    (steps) => {
      const { skip, stepMin } = termsOf(steps);
      expect(skip).toBeGreaterThanOrEqual(1024n * STEPS_IN_HAND * BigInt(stepMin));
    },
  );

  it.each([{}, { stepMax: 10 }, { lastsMs: 3_600_000 }])(
    'is more than a fleet has in hand that uses 222,000 numbers a second, %o',
    (options) => {
      const { skip, lastsMs } = termsOf(options);
      // A chain of refills at half holds up to one and a half times what `lastsMs` asks for.
      expect(Number(skip)).toBeGreaterThanOrEqual(1.5 * lastsMs * 222);
    },
  );

  it.each(['lastsMs', 'stepMin', 'stepMax'])('is no second fault where %s is one', (name) => {
    expect(() => termsOf({ [name]: Number.NaN })).toThrow(`Expected \`${name}\``);
    expect(() => termsOf({ [name]: Number.NaN })).not.toThrow('skip');
  });
});
