// What the search finds: headings, words that people say for them, and each row of the reference,
// which has an address of its own.
import { anchorOf } from '../pages.mjs';
import { SAID } from './said.mjs';

/** Chinese has no spaces between its words. It is sent to the browser, so it stands alone. */
export function wordsOf(/** @type {string} */ text) {
  const segments = new Intl.Segmenter('zh', { granularity: 'word' }).segment(text);
  return Array.from(segments)
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment);
}

const REFERENCE = /^(zh\/)?reference\/\w+\.md$/;

/** A row that begins with code can be linked to: `options.html#leasettlms`. */
export function addressRows(/** @type {import('vitepress').MarkdownRenderer} */ markdown) {
  markdown.core.ruler.push('row-addresses', ({ tokens, env }) => {
    if (!REFERENCE.test(env.relativePath ?? '')) return;
    const taken = new Set(tokens.map((token) => token.attrGet('id')));
    for (const [at, row] of tokens.entries()) {
      if (row.type !== 'tr_open' || tokens[at + 1]?.type !== 'td_open') continue;
      const [first] = tokens[at + 2]?.children ?? [];
      if (first?.type !== 'code_inline') continue;
      const name = anchorOf(first.content);
      let id = name;
      for (let n = 1; taken.has(id); n++) id = `${name}-${n}`;
      taken.add(id);
      row.attrSet('id', id);
    }
  });
}

const ROW = /<tr id="([^"]+)"[^>]*>\s*<td[^>]*>(.*?)<\/td>/g;

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

/** A name is looked for on the page that explains it, before the list of all names. */
export const SEARCH_OPTIONS = {
  boostDocument: (/** @type {string} */ id) => (id.includes('/reference/api/') ? 0.4 : 1),
};
