import { useData } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import { h } from 'vue';
import PlaygroundPage from '../../playground/PlaygroundPage.vue';
import HomeHero from './HomeHero.vue';
import SiteFooter from './SiteFooter.vue';
import './site.css';

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, undefined, { 'doc-footer-before': () => h(SiteFooter) }),
  enhanceApp(/** @type {{ app: import('vue').App }} */ { app }) {
    app.config.globalProperties['$isChinese'] = () => useData().lang.value.startsWith('zh');
    app.component('HomeHero', HomeHero);
    app.component('PlaygroundPage', PlaygroundPage);
  },
};
