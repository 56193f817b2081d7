// The site as VitePress makes it. Nothing on it is loaded from elsewhere.
import { fileURLToPath } from 'node:url';
import { REPOSITORY, VERSION, anchorOf } from '../pages.mjs';
import { referenceSection } from '../reference/page-names.mjs';
import { CHINESE, CHINESE_SEARCH, CHINESE_THEME, chineseMarkdown } from './chinese.mjs';
import { ADDRESS, headOf, withoutCopies } from './head.mjs';
import { SEARCH_OPTIONS, indexedOf, wordsOf } from './search.mjs';
import { ONE_BUTTON, sidebarOf } from './sidebar.mjs';
import { labeledCells } from './tables.mjs';

const CORE = fileURLToPath(new URL('../../lib/core/index.js', import.meta.url));

/** What is no page of the repository has no link; in the browser it stands alone. */
const EDIT_LINK = {
  text: 'Edit this page',
  pattern: (/** @type {import('vitepress').PageData} */ { frontmatter }) =>
    `https://github.com/nestjs-snowflake/nestjs-snowflake/edit/main/${frontmatter['source']}`,
};

export default {
  title: 'nestjs-snowflake',
  description: '64-bit, time-ordered, unique ids for NestJS',
  srcDir: 'pages',
  base: ADDRESS.pathname,
  cleanUrls: false,
  lastUpdated: true,
  appearance: true,
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${ADDRESS.pathname}logo.svg` }]],
  transformHead: headOf,
  // The table of options is the page's own outline, and needs the width.
  transformPageData({ relativePath, frontmatter }) {
    if (relativePath.endsWith('reference/options.md')) frontmatter['aside'] = false;
  },
  sitemap: { hostname: ADDRESS.href, transformItems: withoutCopies },
  locales: {
    root: { label: 'English', lang: 'en' },
    zh: CHINESE,
  },
  markdown: {
    anchor: { slugify: anchorOf },
    config(/** @type {import('vitepress').MarkdownRenderer} */ md) {
      chineseMarkdown(md);
      labeledCells(md);
    },
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  vite: {
    plugins: [CHINESE_THEME, ONE_BUTTON],
    resolve: { alias: { 'nestjs-snowflake/core': CORE } },
    build: { chunkSizeWarningLimit: 1500 },
  },
  themeConfig: {
    logo: '/logo.svg',
    version: VERSION,
    repository: REPOSITORY,
    editLink: EDIT_LINK,
    nav: [
      { text: 'Docs', link: '/start' },
      { text: 'Guarantees', link: '/concepts/guarantees' },
      { text: 'Options', link: '/reference/options' },
      { text: 'Playground', link: '/playground' },
      { text: VERSION, link: `${REPOSITORY}/blob/main/CHANGELOG.md` },
    ],
    sidebar: sidebarOf('', [referenceSection()]),
    outline: [2, 3],
    notFound: {
      quote: 'The link may be old, or mistyped. The search above knows every page.',
      linkText: 'To the first page',
    },
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    search: {
      provider: 'local',
      options: {
        locales: { zh: CHINESE_SEARCH },
        _render: indexedOf,
        miniSearch: { options: { tokenize: wordsOf }, searchOptions: SEARCH_OPTIONS },
      },
    },
  },
};
