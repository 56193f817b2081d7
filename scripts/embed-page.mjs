// Bundles the script of the dashboard and embeds page, style and script as one text in a TypeScript
// file, so that the package reads no files at run time. The hashes are for the page's Content
// Security Policy: a browser runs this script and no other.
import { build, transform } from 'esbuild';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../lib/dashboard/', import.meta.url);
const TARGET = ['chrome110', 'firefox115', 'safari16'];

const read = (name) => readFileSync(new URL(`page/${name}`, FOLDER), 'utf8');
/** It asks to stand in every copy. */
const PREACT_LICENSE = readFileSync(
  new URL('../node_modules/preact/LICENSE', import.meta.url),
  'utf8',
);
const hashOf = (text) => `sha256-${createHash('sha256').update(text).digest('base64')}`;

async function bundledScript() {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL('page/main.tsx', FOLDER))],
    bundle: true,
    charset: 'utf8',
    format: 'iife',
    banner: { js: `/*! Preact\n\n${PREACT_LICENSE}*/` },
    minify: true,
    target: TARGET,
    write: false,
  });
  return outputFiles[0].text.trim();
}

async function plainStyle() {
  const { code } = await transform(read('style.css'), {
    loader: 'css',
    charset: 'utf8',
    minify: true,
    target: TARGET,
  });
  return code.trim();
}

/** The text that page.generated.ts must have. */
async function generatePage() {
  const [script, style] = await Promise.all([bundledScript(), plainStyle()]);
  const html = read('index.html')
    .replace('<style></style>', () => `<style>${style}</style>`)
    .replace('<script></script>', () => `<script>${script}</script>`);
  return (
    '/**\n * Made from page/* by `npm run build:page`. Do not edit.\n' +
    ' * A test compares it with what would be made now.\n */\n' +
    'export const PAGE = {\n' +
    `  html: ${JSON.stringify(html)},\n` +
    `  scriptHash: '${hashOf(script)}',\n` +
    `  styleHash: '${hashOf(style)}',\n` +
    '} as const;\n'
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const page = await generatePage();
  if (process.argv.includes('--print')) process.stdout.write(page);
  else writeFileSync(new URL('page.generated.ts', FOLDER), page);
}
