// Whether the package is on npm, for every page that shows how to install it.

export const IS_PUBLISHED = false;

/** @type {Readonly<Record<'en' | 'zh', string>>} above the command that installs it */
export const NOT_ON_NPM = {
  en: '**It is not on npm yet.** Until it is, run `npm pack` in a clone and install the file it creates.',
  zh: '**尚未发布到 npm。**在此之前，请在克隆的仓库中运行 `npm pack`，并安装它生成的文件。',
};
