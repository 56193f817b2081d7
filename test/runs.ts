/**
 * How often a property is tried: as often as it says, or a tenth of that in `npm run test:quick`.
 */
export const runs = (count: number): number =>
  process.env['TEST_QUICK'] === undefined ? count : Math.ceil(count / 10);
