// What the head of a page tells those that list it: its address, its other language, its card.

/** Where the site is published: `DOCS_ADDRESS`, which ends with a slash. */
export const ADDRESS = new URL(
  process.env['DOCS_ADDRESS'] ?? 'https://nestjs-snowflake.github.io/',
);

/** Of these there is one page, in English; what stands in /zh/ is a copy. */
const ENGLISH_ONLY = /^(zh\/)?(internals|reference\/api)\//;

/** Of a page, by its path among the pages. */
export const addressOf = (/** @type {string} */ path) =>
  new URL(path.replace(/(^|\/)index\.md$/, '$1').replace(/\.md$/, '.html'), ADDRESS).href;

/**
 * @param {import('vitepress').TransformContext} context
 * @returns {import('vitepress').HeadConfig[]}
 */
export function headOf({ pageData, title, description }) {
  const path = pageData.relativePath;
  if (path === '404.md') return [];
  const english = path.replace(/^zh\//, '');
  const isOnly = ENGLISH_ONLY.test(path);
  const own = addressOf(isOnly ? english : path);
  const languages = isOnly
    ? []
    : [
        ['en', english],
        ['zh-CN', `zh/${english}`],
        ['x-default', english],
      ];
  const card = {
    'og:type': 'website',
    'og:site_name': 'nestjs-snowflake',
    'og:title': title,
    'og:description': description,
    'og:url': own,
    'og:image': new URL('card.png', ADDRESS).href,
    'og:image:type': 'image/png',
    'og:image:width': '1200',
    'og:image:height': '630',
    'og:image:alt': 'nestjs-snowflake: 64-bit ids that are never issued twice',
  };
  return [
    ['link', { rel: 'canonical', href: own }],
    ...languages.map(([hreflang = '', to = '']) =>
      link({ rel: 'alternate', hreflang, href: addressOf(to) }),
    ),
    ...Object.entries(card).map(([property, content]) => meta({ property, content })),
    meta({ name: 'twitter:card', content: 'summary_large_image' }),
  ];
}

/** @returns {import('vitepress').HeadConfig} */
const link = (/** @type {Record<string, string>} */ attributes) => ['link', attributes];
/** @returns {import('vitepress').HeadConfig} */
const meta = (/** @type {Record<string, string>} */ attributes) => ['meta', attributes];

/** @template {{ url: string, links?: unknown }} Item @param {Item[]} items */
export const withoutCopies = (items) =>
  items
    .filter(({ url }) => !(url.startsWith('zh/') && ENGLISH_ONLY.test(url)))
    .map((item) => (ENGLISH_ONLY.test(item.url) ? { ...item, links: undefined } : item));
