/**
 * Style is a test. Each rule of the house is one check from test/tidy, applied to the files it is
 * about; that the checks find what they should is tested beside them.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, test } from '@jest/globals';
import { ENTRY_FILES, packageWithEntries, tsconfigWithEntries } from '../scripts/entries.mjs';
import { SCRIPTS } from '../lib/stores/redis/scripts.generated.js';
import { checkArrows, checkFrontDoor, checkSampleApp } from './tidy/arrows.js';
import { checkCircles } from './tidy/circles.js';
import { findingsOf, isLua, linesOf, type Check, type TextFile } from './tidy/check.js';
import { exportedNames } from './tidy/exported-names.js';
import {
  checkDefaults,
  checkInstanceof,
  checkModuleState,
  checkSwallowed,
  exceptKnown,
} from './tidy/doors.js';
import {
  checkFileNames,
  checkFolderNames,
  checkHeads,
  checkScriptArguments,
} from './tidy/names.js';
import { checkColumns, checkFileSizes, checkFunctions, checkLongFiles } from './tidy/sizes.js';
import {
  CIRCLES,
  INSTANCES,
  LONG,
  LONG_FILES,
  MODULE_STATE,
  SWALLOWED,
} from './tidy/open-doors.js';
import { checkScars } from './tidy/scars.js';
import { checkFresh, checkTraces } from './tidy/traces.js';
import { ROOT, readTree } from './tidy/tree.js';
import { checkLimits, checkWaits } from './tidy/waits.js';
import { checkCodeWords, checkCommentWords, checkDeadCode } from './tidy/words.js';

const TREE = readTree();
const SOURCES = TREE.filter(({ path }) =>
  /^(lib|sample-app\/src|schematics|test|scripts)\/|^bench\/.*\.mjs$/.test(path),
);
/** Entities of a database may know each other. */
const OWN = SOURCES.filter(({ path }) => !path.startsWith('sample-app/'));

const RULES: readonly [rule: string, check: Check, files: readonly TextFile[]][] = [
  ['rooms import only what the table of arrows allows', checkArrows, SOURCES],
  ['no files import each other in a circle', exceptKnown(checkCircles, CIRCLES), OWN],
  ['the front door only passes names on', checkFrontDoor, SOURCES],
  ['the sample app knows the library by its package name', checkSampleApp, SOURCES],
  ['code holds no forbidden word', checkCodeWords, SOURCES],
  ['comments hold no bare TODO', checkCommentWords, SOURCES],
  ['comments hold no code', checkDeadCode, SOURCES],
  ['files stay below their wall', checkFileSizes, SOURCES],
  ['a long file says why it is one', exceptKnown(checkLongFiles, LONG_FILES), SOURCES],
  ['a message stands whole', checkScars, SOURCES],
  ['lines stay within 100 columns', checkColumns, SOURCES],
  ['functions are short and take four parameters', exceptKnown(checkFunctions, LONG), SOURCES],
  ['files and folders have kebab-case names', checkFileNames, SOURCES],
  ['no folder is a drawer for anything', checkFolderNames, SOURCES],
  ['every file of lib says at its head what it is for', checkHeads, SOURCES],
  ['scripts read no argument by its number', checkScriptArguments, SOURCES],
  ['nothing tells on which machine it was made', checkTraces(ROOT), TREE],
  ['no class is asked by instanceof', exceptKnown(checkInstanceof, INSTANCES), SOURCES],
  ['no module keeps state', exceptKnown(checkModuleState, MODULE_STATE), SOURCES],
  ['no error is swallowed without a word', exceptKnown(checkSwallowed, SWALLOWED), SOURCES],
  ['nobody is taught a worker id by default', checkDefaults, TREE],
  ['no test waits for a fixed time', checkWaits, SOURCES],
  ['no test has a tight limit', checkLimits, SOURCES],
];

describe('style', () => {
  test.each(RULES)('%s', (_rule, check, files) => {
    expect(findingsOf(check, files)).toEqual([]);
  });

  it('reads the tree it is about', () => {
    expect(TREE.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['package.json', 'lib/errors.ts', 'test/tidy.spec.ts']),
    );
  });
});

describe('generated files', () => {
  it('lib/stores/redis/scripts.generated.ts holds the Lua files as they are', async () => {
    const generator = `${ROOT}/scripts/embed-lua.mjs`;
    const { generateScripts } = (await import(generator)) as { generateScripts: () => string };
    const path = 'lib/stores/redis/scripts.generated.ts';
    const check = checkFresh(path, generateScripts(), 'npm run build:lua');
    expect(findingsOf(check, TREE)).toEqual([]);
  });

  it('holds scripts that are what their hashes say, and each part of them once', () => {
    for (const { lua, sha1 } of Object.values(SCRIPTS)) {
      expect(createHash('sha1').update(lua).digest('hex')).toBe(sha1);
    }
    const { text } = TREE.find(({ path }) => path.endsWith('/scripts.generated.ts'))!;
    const heads = TREE.filter(isLua).map((part) => JSON.stringify(linesOf(part.text)[0]));
    expect(heads.filter((head) => text.split(head.slice(0, -1)).length !== 2)).toEqual([]);
  });

  it('lib/dashboard/page.generated.ts holds the page as it is', () => {
    // The bundler knows its own Uint8Array only, so it runs outside of Jest.
    const args = [`${ROOT}/scripts/embed-page.mjs`, '--print'];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    expect(stderr).toBe('');
    const check = checkFresh('lib/dashboard/page.generated.ts', stdout, 'npm run build:page');
    expect(findingsOf(check, TREE)).toEqual([]);
  });
});

describe('the table of entries', () => {
  it.each([
    ['package.json', packageWithEntries],
    ['tsconfig.json', tsconfigWithEntries],
  ])('is what %s says', (path, withEntries) => {
    const { text } = TREE.find((file) => file.path === path)!;
    expect(findingsOf(checkFresh(path, withEntries(text), 'npm run build:entries'), TREE)).toEqual(
      [],
    );
  });

  it('changes both where it changes', () => {
    const manifest = packageWithEntries('{"name":"x","exports":{},"typesVersions":{}}');
    expect(JSON.parse(manifest)).toMatchObject({
      main: './dist/cjs/index.js',
      exports: { './core': { import: './dist/esm/core/index.js' } },
      typesVersions: { '*': { core: ['./dist/cjs/core/index.d.ts'] } },
    });
    const paths = tsconfigWithEntries('{ "paths": { "nestjs-snowflake": ["./elsewhere.ts"] } }');
    expect(JSON.parse(paths)).toMatchObject({
      paths: { 'nestjs-snowflake': ['./lib/index.ts'], 'nestjs-snowflake/core': expect.anything() },
    });
  });

  it('names files that are there', () => {
    const paths = TREE.map(({ path }) => path);
    expect(paths).toEqual(expect.arrayContaining(Object.values(ENTRY_FILES)));
  });
});

describe('public interface', () => {
  // After a change that is meant: UPDATE_EXPORTED_NAMES=1 npm test -- test/tidy.spec.ts
  const list = `${ROOT}/test/tidy/exported-names.json`;
  const names = `${JSON.stringify(exportedNames(TREE), null, 2)}\n`;

  it('exports the committed names (UPDATE_EXPORTED_NAMES=1 rewrites the list)', () => {
    if (process.env['UPDATE_EXPORTED_NAMES']) writeFileSync(list, names);
    const committed = existsSync(list) ? readFileSync(list, 'utf8') : 'no list is committed';
    expect(names).toBe(committed);
  });
});
