/**
 * Ready-made layouts: ours, and those people already have ids in.
 *
 * Promise: a preset never changes, because it is part of every id made with it.
 */
import { BitLayout } from './bit-layout.js';
import { epochIn } from './epoch.js';
import { layoutsOfOthers, split, type LayoutOptions } from './presets-of-others.js';

/**
 * Ready-made layouts.
 *
 * @example
 * ```ts
 * import { layouts } from 'nestjs-snowflake/core';
 *
 * layouts.snowflake().lastDate.getUTCFullYear(); // 2093
 * layouts.twitter().parse('1427970479175499776').date; // 2021-08-18T12:27:47.301Z
 * ```
 */
export const layouts = /* @__PURE__ */ Object.assign(
  // Not by a spread: bundlers keep one, with every layout, where only text forms are asked for.
  {
    /** 41 timestamp, 10 worker, 12 sequence, 1 ms: 1024 workers, 4096 ids per ms each, 69 years. */
    snowflake: (options: LayoutOptions = {}) => split(10, 12, epochIn(options)),
  } as const,
  layoutsOfOthers,
  {
    /**
     * 53 bits in all, so that ids fit in a JavaScript number: 38 timestamp of 10 ms, 8 worker,
     * 7 sequence: 256 workers, 12,800 ids per second each, 87 years.
     */
    javascriptSafe: (options: LayoutOptions = {}) =>
      new BitLayout({
        epoch: epochIn(options),
        unitMs: 10,
        fields: [
          ['timestamp', 38],
          ['worker', 8],
          ['sequence', 7],
        ],
      }),
  } as const,
);
