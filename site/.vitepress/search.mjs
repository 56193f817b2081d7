// What the search finds: headings, words that people say for them, and each row of the reference
// that has an address of its own.
import { SAID } from './said.mjs';

/** Chinese has no spaces between its words. It is sent to the browser, so it stands alone. */
export function wordsOf(/** @type {string} */ text) {
  const segments = new Intl.Segmenter('zh', { granularity: 'word' }).segment(text);
  return Array.from(segments)
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment);
}

/** A row that can be linked to: `options.html#leasettlms`. */
const ROW = /<tr>\s*<td[^>]*><a id="([^"]+)"><\/a>(.*?)<\/td>/g;

/**
 * A page as it is indexed: its rows with an address are sections, and so is what people say for it.
 *
 * @param {string} text
 * @param {import('vitepress').MarkdownEnv} env
 * @param {import('vitepress').MarkdownRenderer} markdown
 */
export function indexedOf(text, env, markdown) {
  const html = markdown.render(text, env);
  if (env.frontmatter?.['search'] === false) return '';
  const said = SAID[env.relativePath];
  const also = said === undefined ? '' : `<h2>${said} <a href="#"></a></h2><p>${said}</p>`;
  const rows = html.replaceAll(
    ROW,
    (row, id, name) => `<h3>${name} <a href="#${id}"></a></h3>${row}`,
  );
  return `${rows}${also}`;
}

/**
 * A guide or a runbook comes before the list of all names, and the internals come last. Of a short
 * word, no other word is meant. Each function is sent to the browser, so it stands alone.
 */
export const SEARCH_OPTIONS = {
  prefix: true,
  fuzzy: (/** @type {string} */ term) => (term.length < 6 ? false : 0.2),
  boost: { title: 4, text: 2, titles: 1 },
  boostDocument(/** @type {string} */ id) {
    if (id.includes('changes-before-1')) return 0.1;
    if (id.includes('/internals/')) return 0.3;
    if (id.includes('/reference/api/')) return 0.4;
    return /runbooks|\/guides\/|choosing|start\.html/.test(id) ? 1.5 : 1;
  },
};
