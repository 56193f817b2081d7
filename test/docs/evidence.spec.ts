/**
 * The documents on failures name what checks each row, and quote what the log says. Both must be
 * there: a test by its file and name, a mutant, a scenario, a fault, a case; a text of the code.
 * And the runbooks have an entry for whatever an operator can meet, with commands that there are.
 */
import { describe, expect, it } from '@jest/globals';
import { COMMANDS } from '../../lib/cli/commands/index.js';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { CONTRACT_CASES } from '../../lib/testing/describe-stores.js';
import { LOCK_CASES } from '../../lib/testing/describe-stores.js';
import { SCENARIOS } from '../simulation/world/index.js';
import { COUNTER_FAULTS } from '../chaos/counter-topologies.mjs';
import { CLOCK_FAULTS } from '../chaos/topologies.mjs';
import { FAULTS, withCounts } from '../chaos/faults.mjs';
import { CRON_FAULTS } from '../chaos/cron-topologies.mjs';
import { LOCK_FAULTS } from '../chaos/lock-topologies.mjs';
import { MACHINE_FAULTS } from '../chaos/machine.mjs';
import { NETWORK_FAULTS } from '../chaos/fault.mjs';
import { REGION_FAULTS } from '../chaos/region-topologies.mjs';
import { STORE_FAULTS } from '../chaos/stores/stores.mjs';
import { UNTOLD_FAULTS } from '../chaos/untold-topologies.mjs';
import { MISTAKES } from '../chaos/mistakes/mistakes.mjs';
import { BROKEN_VARIANTS } from '../mutants/mutants.mjs';
import { isLib, linesOf, readTree } from '../tidy/tree.js';
import { anchorOf, placesOf, labelled } from './sections.js';

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)?.text ?? '';
const EVIDENCE = textOf('docs/internals/failure-evidence.md');
const TRACK_RECORD = textOf('docs/internals/track-record.md');

const KNOWN: Readonly<Record<string, readonly string[]>> = {
  mutant: BROKEN_VARIANTS.map(({ name }) => name),
  simulation: SCENARIOS.map(({ name }) => name),
  chaos: [FAULTS, NETWORK_FAULTS, CLOCK_FAULTS, STORE_FAULTS, COUNTER_FAULTS, LOCK_FAULTS]
    .concat(CRON_FAULTS, UNTOLD_FAULTS, REGION_FAULTS, MACHINE_FAULTS)
    .flat()
    .map(({ name }) => name),
  mistake: MISTAKES.map(({ name }) => name),
  contract: [...CONTRACT_CASES, ...LOCK_CASES].map(({ name }) => name),
  // Why the chaos has none: words that the document explains.
  'no number': [...EVIDENCE.matchAll(/^ {2}- `(\w+)`: /gm)].map(([, reason]) => reason!),
};

/** The cells of each row of each table, heads left out. */
function rowsIn(document: string): string[][] {
  const rows = linesOf(document).filter((line) => line.startsWith('|'));
  const cells = rows.map((row) => row.split('|').slice(1, -1));
  const trimmed = cells.map((row) => row.map((cell) => cell.trim()));
  return trimmed.filter((row, at) => !isRule(row) && !isRule(trimmed[at + 1] ?? []));
}

const isRule = ([first = '']: readonly string[]): boolean => /^-+$/.test(first);

/** What is wrong with one piece of evidence, e.g. "chaos: kill -9". */
function faultOf(evidence: string): string | undefined {
  const test = /^`(test\/[^`]+)`: (.+)$/.exec(evidence);
  if (test) {
    const [, path = '', name = ''] = test;
    return textOf(path).includes(name) ? undefined : `no test of ${path} is named "${name}"`;
  }
  const [, kind = '', name = ''] = /^([\w ]+): (.+?)( \([\d,]+\))?$/.exec(evidence) ?? [];
  return KNOWN[kind]?.includes(name) ? undefined : `nothing is known as "${evidence}"`;
}

/** Whether a row has the number of each of its faults, or else a reason. */
function isCounted(checkedBy: string): boolean {
  const pieces = checkedBy.split('; ');
  const faults = pieces.filter((piece) => piece.startsWith('chaos: '));
  const reasons = pieces.filter((piece) => piece.startsWith('no number: '));
  const counted = faults.filter((piece) => / \([1-9]\d{0,2}(,\d{3})*\)$/.test(piece));
  if (faults.length === 0) return reasons.length === 1;
  return counted.length === faults.length && reasons.length === 0;
}

/** Texts of the code as one piece each, where the source breaks them over lines. */
const SAID = TREE.filter(isLib)
  .map(({ text }) => text.replace(/['"`] \+\s*['"`]/g, ''))
  .join('\n');

/** The parts of a quotation between its gaps. */
const isSaid = (quotation: string): boolean =>
  quotation.split('…').every((part) => SAID.includes(part.trim()));

describe.each([
  ['docs/internals/failure-evidence.md', EVIDENCE, 90],
  ['docs/internals/track-record.md', TRACK_RECORD, 20],
])('%s', (_path, document, rowCountMin) => {
  it('names checks that there are', () => {
    const rows = rowsIn(document);
    expect(rows.length).toBeGreaterThanOrEqual(rowCountMin);
    const evidence = rows.flatMap((row) => row.at(-1)!.split('; '));
    expect(evidence.flatMap((piece) => faultOf(piece) ?? [])).toEqual([]);
  });
});

describe('docs/operating/runbooks.md', () => {
  const page = textOf('docs/operating/runbooks.md');
  const states = Object.keys(LEASE_STATES).filter((state) => state !== 'active');
  const alerts = textOf('docs/operating/monitoring/alert-rules.yaml').matchAll(/- alert: (\w+)/g);
  const codes = textOf('lib/errors.ts').matchAll(/^ {2}\| '(\w+)'/gm);
  const namesOf = (title: string) => namesUnder(page, title);

  it('has an entry for each error code, state and alert, and for no other', () => {
    expect(namesOf('Error codes')).toEqual([...codes].map(([, code]) => code));
    expect(namesOf('States').toSorted()).toEqual(states.toSorted());
    expect(namesOf('Alerts')).toEqual([...alerts].map(([, alert]) => alert));
  });

  it.each([
    ['docs/operating/runbooks.md', ['You see', 'How long you have', 'Do this', 'Back to normal']],
    ['docs/zh/operating/runbooks.md', ['现象', '还有多久', '怎么做', '何时恢复']],
  ])('says in each entry what, how long, what to do and until when: %s', (path, labels) => {
    const entries = textOf(path)
      .replace(/^## .*$/gm, '### ')
      .split(/^### /m)
      .slice(1);
    const named = entries.filter((entry) => /^\S.*\n\n- \*\*/.test(entry));
    expect(named).toHaveLength(6 + 20 + 7 + 22);
    const items = named.map((entry) => [...entry.matchAll(/^- \*\*(.*?)( when)?\*\*/gm)]);
    expect(items.filter((found) => found.map(([, it]) => it).join() !== labels.join())).toEqual([]);
    expect(named.filter((entry) => entry.length > 900)).toEqual([]);
  });

  it('shows only commands and options that there are', () => {
    expect(commandFaults(page)).toEqual([]);
    expect(page.match(/`snowflake \w/g)!.length).toBeGreaterThan(40);
    expect(commandFaults('`snowflake wrokers` `snowflake workers --hosts`')).toHaveLength(2);
  });

  it('is where the rules of Prometheus lead, each to its own entry', () => {
    const rules = textOf('docs/operating/monitoring/alert-rules.yaml').split('- alert: ').slice(1);
    const { homepage } = JSON.parse(textOf('package.json')) as { homepage: string };
    const to = homepage.replace('#readme', '/blob/main/docs/operating/runbooks.md#');
    const urls = rules.map((rule) => [/\w+/.exec(rule)![0], /runbook_url: (.*)/.exec(rule)?.[1]]);
    expect(urls).toEqual(urls.map(([name]) => [name, `${to}${anchorOf(name!)}`]));
    const anchors = placesOf(page);
    expect(urls.filter(([, url]) => !anchors.includes(url!.split('#')[1]!))).toEqual([]);
    expect(new Set(anchors).size).toBe(anchors.length);
  });
});

/** The headings of entries below one of a section. */
function namesUnder(page: string, title: string): string[] {
  const [, section = ''] = page.split(`\n## ${title}\n`);
  return [...section.split('\n## ')[0]!.matchAll(/^### (.*)$/gm)].map(([, name]) => name!);
}

/** What of the commands in a line of text is no command, or no option of it. */
function commandFaults(page: string): string[] {
  const shown = [...page.matchAll(/`(?:npx )?snowflake ([^`]+)`/g)].map(([, text]) => text!);
  return shown.flatMap((text) => {
    const found = COMMANDS.filter(({ name }) => `${text} `.startsWith(`${name} `)).at(-1);
    if (found === undefined) return [`there is no command ${text}`];
    const options = [...text.matchAll(/--([a-z-]+)/g)].map(([, option]) => option!);
    const unknown = options.filter((option) => !(option in found.options));
    return unknown.map((option) => `${found.name} has no --${option}`);
  });
}

/*
 * Whoever is woken reads on a phone: a table of more columns than these is wider than the page.
 */
describe('tables of the pages for operators', () => {
  const pages = TREE.filter(({ path }) => /^docs\/(zh\/)?operating\/[^/]+\.md$/.test(path));

  it('have five columns at the most, and those of the runbooks three', () => {
    const widest = (text: string) => Math.max(0, ...rowsIn(text).map((row) => row.length));
    expect(pages.length).toBeGreaterThan(10);
    expect(pages.filter(({ text }) => widest(text) > 5).map(({ path }) => path)).toEqual([]);
    const runbooks = pages.filter(({ path }) => path.endsWith('/runbooks.md'));
    expect(runbooks.map(({ text }) => widest(text))).toEqual([3, 3]);
    expect(widest('| a | b | c | d | e | f |\n')).toBe(6);
  });
});

describe('docs/internals/proof.md', () => {
  const [, section = ''] = textOf('docs/internals/proof.md').split('\n## Mistakes of operators\n');
  const rows = rowsIn(section.split('\n## ')[0]!);

  it('has a row for every mistake that the chaos plays, in its order, with its figures', () => {
    expect(rows.map(([name]) => name)).toEqual(KNOWN['mistake']!.map((name) => `\`${name}\``));
    expect(rows.filter((row) => !/\b0 twice\b/.test(row.at(-1)!))).toEqual([]);
  });
});

describe('docs/internals/failure-evidence.md', () => {
  const rows = rowsIn(EVIDENCE);
  const told = rows.map((row) => labelled(row[1]!));

  it('quotes what the code says', () => {
    const quotations = told.flatMap(({ log = '' }) =>
      [...log.matchAll(/`([^`]+)`/g)].map(([, it]) => it!),
    );
    expect(quotations.length).toBeGreaterThan(15);
    expect(quotations.filter((quotation) => !isSaid(quotation))).toEqual([]);
  });

  it('names every fault of the chaos', () => {
    const named = rows.map((row) => row.at(-1)!).join(' ');
    expect(KNOWN['chaos']!.filter((name) => !named.includes(`chaos: ${name}`))).toEqual([]);
  });

  it('has in each row how often its faults were applied, or why the chaos has none', () => {
    const last = rows.map((row) => row.at(-1)!);
    expect(last.filter((checkedBy) => !isCounted(checkedBy))).toEqual([]);
    expect(KNOWN['no number']).toHaveLength(4);
    const bare = ['chaos: kill -9', 'chaos: kill -9 (0)', '`test/a.spec.ts`: is so'];
    expect(bare.filter(isCounted)).toEqual([]);
    expect(isCounted('chaos: kill -9 (1,204); no number: exact')).toBe(false);
    expect(isCounted('chaos: kill -9; no number: exact')).toBe(false);
    expect(isCounted('chaos: kill -9 (1,204); simulation: losses')).toBe(true);
    expect(isCounted('chaos: kill -9 (1,204); chaos: DEL')).toBe(false);
  });

  it('gets its numbers from runs of the chaos', () => {
    const faults = [{ name: 'kill -9', count: 5 }];
    const good = { faults, duplicateCount: 0 };
    const cells = 'chaos: kill -9 (1,198); chaos: SIGTERM | chaos: kill -9 |\n';
    const counted = withCounts(cells, [good, good]);
    expect(counted).toBe('chaos: kill -9 (1,208); chaos: SIGTERM | chaos: kill -9 (10) |\n');
    const rows = ['chaos: kill -9 (1) |', 'ids may repeat: beyond the promise | chaos: kill -9 |'];
    const tolerated = withCounts(rows.join('\n'), [{ faults, duplicateCount: 341 }]);
    expect(tolerated.split('\n')).toEqual([rows[0], rows[1]!.replace('-9', '-9 (5)')]);
  });

  it('names only error codes that there are', () => {
    const codes = told.flatMap(({ callers = '' }) => callers.match(/\b[A-Z]+_[A-Z_]+\b/g) ?? []);
    const errors = textOf('lib/errors.ts');
    expect(codes.filter((code) => !errors.includes(`'${code}'`))).toEqual([]);
  });

  it('would notice a check, a quotation and a fault that are not there', () => {
    expect(faultOf('chaos: an earthquake')).toBe('nothing is known as "chaos: an earthquake"');
    expect(faultOf('`test/servers.spec.ts`: is asleep')).toContain(
      'no test of test/servers.spec.ts',
    );
    expect(isSaid('The store is … asleep')).toBe(false);
  });
});
