/**
 * The text forms that the application reads, with a title for each.
 * The names are those of `textForms`; a test compares them.
 */
export const FORMS: readonly (readonly [form: string, title: string])[] = [
  ['decimal', 'decimal'],
  ['hex', 'hex'],
  ['base36', 'base 36'],
  ['base58', 'base 58'],
  ['base58Bwmarrin', 'base 58, bwmarrin'],
  ['zBase32', 'z-base-32'],
  ['crockford32', 'Crockford base 32'],
  ['base62', 'base 62'],
  ['sortableDecimal', 'sortable decimal'],
  ['sortableHex', 'sortable hex'],
  ['sortableBase36', 'sortable base 36'],
  ['sortableCrockford32', 'sortable Crockford base 32'],
  ['sortableBase62', 'sortable base 62'],
];
