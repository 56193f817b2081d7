// The Chinese half of the site: its navigation, and what the theme says in English otherwise.
import { REPOSITORY, VERSION } from '../pages.mjs';
import { referenceSection } from '../reference/page-names.mjs';
import { sidebarOf } from './sidebar.mjs';

export const CHINESE = {
  label: '简体中文',
  lang: 'zh-CN',
  link: '/zh/',
  description: 'NestJS 的分布式 ID（雪花算法）：64 位、趋势递增、绝不重复',
  themeConfig: {
    nav: [
      { text: '入门', link: '/zh/start' },
      { text: '保证', link: '/zh/concepts/guarantees' },
      { text: '选项', link: '/zh/reference/options' },
      { text: '演练场', link: '/zh/playground' },
      { text: VERSION, link: `${REPOSITORY}/blob/main/CHANGELOG.md` },
    ],
    sidebar: sidebarOf('zh', [referenceSection('各入口的名称（英文）', '/zh')]),
    outline: { level: /** @type {[number, number]} */ ([2, 3]), label: '本页内容' },
    editLink: {
      text: '编辑此页',
      pattern: (/** @type {import('vitepress').PageData} */ { frontmatter }) =>
        `https://github.com/nestjs-snowflake/nestjs-snowflake/edit/main/${frontmatter['source']}`,
    },
    lastUpdated: { text: '最近更新' },
    docFooter: { prev: '上一页', next: '下一页' },
    returnToTopLabel: '回到顶部',
    sidebarMenuLabel: '菜单',
    darkModeSwitchLabel: '外观',
    lightModeSwitchTitle: '切换到浅色',
    darkModeSwitchTitle: '切换到深色',
    langMenuLabel: '切换语言',
    skipToContentLabel: '跳到正文',
    notFound: {
      title: '没有这个页面',
      quote: '链接可能已经失效，或地址有误。',
      linkLabel: '回到首页',
      linkText: '回到首页',
    },
  },
};

export const CHINESE_SEARCH = {
  translations: {
    button: { buttonText: '搜索', buttonAriaLabel: '搜索' },
    modal: {
      displayDetails: '显示详情',
      resetButtonTitle: '清除',
      backButtonTitle: '关闭搜索',
      noResultsText: '没有找到',
      footer: {
        selectText: '打开',
        selectKeyAriaLabel: '回车键',
        navigateText: '选择',
        navigateUpKeyAriaLabel: '上箭头',
        navigateDownKeyAriaLabel: '下箭头',
        closeText: '关闭',
        closeKeyAriaLabel: 'Esc 键',
      },
    },
  },
};

/** What the theme says on every page, and has no option for. */
const FIXED = {
  'Main Navigation': '主导航',
  'Sidebar Navigation': '侧边导航',
  'mobile navigation': '导航菜单',
  'extra navigation': '更多',
  Pager: '翻页',
};

/**
 * Has the theme say it in the language of the page, which `$isChinese` in theme/index.mjs knows.
 *
 * @type {import('vite').Plugin}
 */
export const CHINESE_THEME = {
  name: 'chinese-theme',
  enforce: 'pre',
  transform(code, id) {
    if (!/\/theme-default\/components\/\w+\.vue$/.test(id)) return undefined;
    return Object.entries(FIXED).reduce((text, [english, chinese]) => {
      const either = `$isChinese() ? '${chinese}' : '${english}'`;
      return text
        .replace(new RegExp(`(?<=>\\s*)${english}(?=\\s*<)`), () => `{{ ${either} }}`)
        .replace(new RegExp(`([\\w-]+)="${english}"`), (_, name) => `:${name}="${either}"`);
    }, code);
  },
};

/** Has what Markdown becomes say it, on the pages of this half. */
export function chineseMarkdown(/** @type {import('vitepress').MarkdownRenderer} */ markdown) {
  const render = markdown.render.bind(markdown);
  markdown.render = (text, env) => {
    const html = render(text, env);
    if (!env.relativePath.startsWith('zh/')) return html;
    return html
      .replaceAll('title="Copy Code"', 'title="复制代码"')
      .replaceAll(/aria-label="Permalink to &quot;(.*?)&quot;"/g, 'aria-label="“$1”的链接"');
  };
}
