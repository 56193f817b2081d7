/**
 * The interface of the package as its declarations show it to a user's compiler. api.txt is the
 * promise, and CHANGELOG.md lists every change of it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { apiReport, changesBetween, untold } from '../../scripts/api-report.mjs';
import { packedLibrary } from '../support/builds.mjs';
import { ROOT } from '../tidy/tree.js';
import { unpack } from './tarball.js';

const REPORT = `${ROOT}/test/package/api.txt`;
const HOW =
  'What users import has changed. Is it meant? Tell it in CHANGELOG.md, then run ' +
  'UPDATE_API_REPORT=1 npm test -- test/package/api';
const CHANGELOG = readFileSync(`${ROOT}/CHANGELOG.md`, 'utf8');

let folder: string;
let report: string;
beforeAll(async () => {
  folder = await mkdtemp(`${tmpdir()}/nestjs-snowflake-api-`);
  await unpack(await packedLibrary(), `${folder}/library`);
  report = await apiReport(`${folder}/library`);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it('declarations match api.txt, and CHANGELOG.md lists every change', () => {
  const committed = existsSync(REPORT) ? readFileSync(REPORT, 'utf8') : report;
  const changes = changesBetween(committed, report);
  expect({ [HOW]: untold(changes, CHANGELOG) }).toEqual({ [HOW]: [] });
  if (process.env['UPDATE_API_REPORT']) writeFileSync(REPORT, report);
  const told = changes.map(({ entry, name, kind }) => `${name} of ${entry} is ${kind}`);
  expect({ [HOW]: process.env['UPDATE_API_REPORT'] ? [] : told }).toEqual({ [HOW]: [] });
  expect(report).toBe(readFileSync(REPORT, 'utf8'));
});

/** Careless edits of the declarations, and the symbols whose users are affected. */
const EDITS: readonly [file: string, found: string, put: string][] = [
  ['core/layout/bit-layout', 'withEpoch(epoch: Epoch)', 'withEpoch(epoch: Date)'],
  ['api-keys/api-keys', 'issue(id: bigint | string): IssuedApiKey;', ''],
  ['lock/lock-store', 'readonly note: string;', 'readonly note?: string;'],
  ['lock/lock-store', 'export declare function lockKey(', '/** @deprecated Use b. */ $&'],
  // No user is affected by these.
  ['rows/row-store', 'export declare const HEADER_KEY', '/** Said otherwise. */ $&'],
  ['nest/id-maker', 'nextIdNumber(', 'private a: 1; /** Said otherwise. */ $&'],
];

it('the report contains only the changes that affect users', async () => {
  for (const [file, found, put] of EDITS) {
    const path = `${folder}/library/dist/cjs/${file}.d.ts`;
    const text = readFileSync(path, 'utf8');
    expect(text).toContain(found);
    writeFileSync(path, text.replace(found, put));
  }
  const changed = await apiReport(`${folder}/library`);
  expect(changesBetween(report, changed)).toEqual([
    { entry: 'nestjs-snowflake', name: 'BitLayout', kind: 'changed' },
    { entry: 'nestjs-snowflake/api-keys', name: 'ApiKeys', kind: 'changed' },
    { entry: 'nestjs-snowflake/lock', name: 'LockNote', kind: 'changed' },
    { entry: 'nestjs-snowflake/lock', name: 'lockKey', kind: 'changed' },
  ]);
  expect(changed).toContain('## lockKey\ndeprecated: Use b.\nfunction lockKey(');
});

const SMALL = '# a\n\n## b\nfunction b(): 1;\n\n## c\nconst c: 2;\n';
const LARGER = '# a\n\n## b\nfunction b(): 2;\n\n## d\nconst d: 2;\n';

it('a change needs a line in the matching section of the next release', () => {
  const changes = changesBetween(SMALL, LARGER);
  const asked = [
    '`b` of a is changed: CHANGELOG.md needs a line below "### Changed"',
    '`c` of a is removed: CHANGELOG.md needs a line below "### Removed"',
    '`d` of a is added: CHANGELOG.md needs a line below "### Added"',
  ];
  expect(untold(changes, '## Unreleased\n')).toEqual(asked);
  const lines = '- `b()`, `c` and\n  `d`.\n';
  expect(untold(changes, `## Unreleased\n\n### Fixed\n${lines}`)).toEqual(asked);
  expect(untold(changes, `## Unreleased\n\n## 1.0.0\n### Changed\n${lines}`)).toEqual(asked);
  expect(untold(changes, `## Unreleased\n\n### Changed\n${lines}`)).toEqual([asked[2]]);
  expect(untold(changes, `## 1.1.0\n### Added\n- \`d\`\n### Removed\n${lines}`)).toEqual([]);
});
