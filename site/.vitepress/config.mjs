// The site as VitePress makes it. Nothing on it is loaded from elsewhere.
import { fileURLToPath } from 'node:url';
import { REPOSITORY, anchorOf } from '../pages.mjs';
import { referenceSection } from '../reference/page-names.mjs';
import { CHINESE, CHINESE_SEARCH, CHINESE_THEME, chineseMarkdown } from './chinese.mjs';
import { sidebarOf } from './sidebar.mjs';

const CORE = fileURLToPath(new URL('../../lib/core/index.js', import.meta.url));

/** Chinese has no spaces between its words. */
function wordsOf(/** @type {string} */ text) {
  const segments = new Intl.Segmenter('zh', { granularity: 'word' }).segment(text);
  return Array.from(segments)
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment);
}

export default {
  title: 'nestjs-snowflake',
  description: '64-bit, time-ordered, unique ids for NestJS',
  srcDir: 'pages',
  base: process.env['DOCS_BASE'] ?? '/',
  cleanUrls: false,
  lastUpdated: false,
  appearance: true,
  locales: {
    root: { label: 'English', lang: 'en' },
    zh: CHINESE,
  },
  markdown: {
    anchor: { slugify: anchorOf },
    config: chineseMarkdown,
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  },
  vite: {
    plugins: [CHINESE_THEME],
    resolve: { alias: { 'nestjs-snowflake/core': CORE } },
    build: { chunkSizeWarningLimit: 1500 },
  },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Guarantees', link: '/concepts/guarantees' },
      { text: 'Options', link: '/reference/options' },
      { text: 'Playground', link: '/playground' },
    ],
    sidebar: [...sidebarOf(), referenceSection()],
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: REPOSITORY }],
    search: {
      provider: 'local',
      options: {
        locales: { zh: CHINESE_SEARCH },
        miniSearch: { options: { tokenize: wordsOf } },
      },
    },
  },
};
