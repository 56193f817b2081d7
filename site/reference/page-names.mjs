// Where the reference of an entry lies on the site.
import { ENTRY_FILES } from '../../scripts/entries.mjs';

/** In `reference/api/`, without its ending. */
export const pageNameOf = (/** @type {string} */ entry) =>
  entry === 'nestjs-snowflake' ? entry : entry.replace(/^[^/]*\//, '').replaceAll('/', '-');

/** A page for each entry, for the sidebar. */
export function referenceSection(text = 'Exports by entry point', base = '') {
  const items = Object.keys(ENTRY_FILES).map((entry) => ({
    text: entry,
    link: `${base}/reference/api/${pageNameOf(entry)}`,
  }));
  return { text, items, collapsed: true };
}
