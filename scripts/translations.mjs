// README and each page of docs outside internals have a Chinese page, whose last line has the hash
// of the English page that it translates. `node scripts/translations.mjs` lists the pages that are
// missing or older than the English one, `-- --write docs/zh/start.md ...` marks pages as translated.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const MARK = /\n<!-- translates (\w+) -->\n$/;

const pages = (/** @type {string} */ folder) =>
  readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.md') && !/^(internals|zh)\//.test(path))
    .toSorted();
const textOf = (/** @type {string} */ path) => readFileSync(`${ROOT}/${path}`, 'utf8');
const hashOf = (/** @type {string} */ path) =>
  createHash('sha256').update(textOf(path)).digest('hex').slice(0, 12);

/** @returns {[english: string, chinese: string][]} */
function pairs() {
  const both = [...new Set([...pages('docs'), ...pages('docs/zh')])];
  return [
    ['README.md', 'README.zh-CN.md'],
    ...both.map((path) => /** @type {[string, string]} */ ([`docs/${path}`, `docs/zh/${path}`])),
  ];
}

/** @returns {string | undefined} what is wrong with a pair */
function faultOf(/** @type {string} */ english, /** @type {string} */ chinese) {
  if (!existsSync(`${ROOT}/${english}`)) return `${chinese} translates no page`;
  if (!existsSync(`${ROOT}/${chinese}`)) return `${chinese} is missing`;
  const isCurrent = MARK.exec(textOf(chinese))?.[1] === hashOf(english);
  return isCurrent ? undefined : `${chinese} is older than ${english}`;
}

const [, , option, ...named] = process.argv;
if (option === '--write') {
  for (const [english, chinese] of pairs())
    if (named.length === 0 || named.includes(chinese))
      writeFileSync(
        `${ROOT}/${chinese}`,
        `${textOf(chinese).replace(MARK, '')}\n<!-- translates ${hashOf(english)} -->\n`,
      );
} else {
  const faults = pairs().flatMap((pair) => faultOf(...pair) ?? []);
  console.log(faults.length === 0 ? 'Each Chinese page is current.' : faults.join('\n'));
}
