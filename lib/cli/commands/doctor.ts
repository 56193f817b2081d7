/**
 * `snowflake doctor`: checks whether a store can lease worker IDs safely to this host.
 *
 * Guarantee: it only reads. Exit code 0 means that it found no problem. Each warning explains the
 * effect on IDs and the next step.
 */
import { isSnowflakeError } from '../../errors.js';
import type { Finding, Level, RegistryInspector, RegistryView } from '../../registry/snapshot.js';
import { GIVEN_LAYOUT_OPTIONS, layoutFrom, namesLayout } from '../layout-option.js';
import { DOCS_URL, failed, quoted, show, usageFault, type Call, type Command } from '../command.js';
import { measure, registryFindings } from '../store/registry-findings.js';
import { isStoreNamed, REGIONS_OPTION, SUPPORT_OPTIONS, withStore } from '../store/stores.js';
import { wrapped, type ExitCode, type Colour, type Painted } from '../terminal.js';
import { againstFindings, regionFindings } from './regions.js';

const COLOUR_OF: Readonly<Record<Level, Colour>> = {
  ok: 'green',
  note: 'dim',
  warning: 'yellow',
  fault: 'red',
};

export const doctor: Command = {
  name: 'doctor',
  summary: 'Check a store: connection, latency, clocks, settings, layout, free worker IDs',
  says: [
    'It only reads. If you give a layout, it is compared with that of the registry. Exit code 1: ' +
      'there are warnings or errors.',
  ],
  options: {
    ...SUPPORT_OPTIONS,
    ...GIVEN_LAYOUT_OPTIONS,
    ...REGIONS_OPTION,
    against: {
      value: 'url',
      says: 'another registry, in which no worker id should be held as well',
    },
    json: { says: 'one JSON object per finding' },
  },
  examples: [
    `snowflake doctor --support 'redis://localhost:6379?namespace=shop'`,
    `snowflake doctor --layout twitter --support 'redis+sentinel://host:26379/mymaster'`,
    `snowflake doctor --support redis://eu --regions 'etcd://global?namespace=shop-regions'`,
    `snowflake doctor --support redis://eu --against redis://us`,
  ],
  async run(call: Call): Promise<ExitCode> {
    const { terminal, options } = call;
    const layout = namesLayout(options) ? layoutFrom(options) : undefined;
    // An invalid URL is rejected before any store is read.
    for (const { option } of COMPARED) {
      if (isStoreNamed(call, option)) await withStore(call, async () => undefined, option);
    }
    return withStore(call, async (store) => {
      const found = await reached('connection', async () => {
        const { view, findings } = await measure(store);
        return [
          ...findings,
          ...(await store.findings()),
          ...registryFindings(view, layout?.fingerprint),
          ...(await compared(store, view, call)),
        ];
      });
      for (const finding of found) {
        if (options.flag('json')) await terminal.printJson(finding);
        else await terminal.print(lineOf(finding));
      }
      return found.some(({ level }) => level === 'warning' || level === 'fault') ? 1 : 0;
    });
  },
};

/** An unreachable store is a finding; a wrong URL is a mistake in the command line. */
async function reached(topic: string, look: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await look();
  } catch (error) {
    if (!isSnowflakeError(error) || error.code === 'CONFIG_INVALID') throw error;
    return [{ level: 'fault', topic, text: error.message }];
  }
}

const COMPARED = [
  { option: 'regions', topic: 'regions', compare: regionFindings },
  { option: 'against', topic: 'two stores', compare: againstFindings },
] as const;

/** Compares the registry with the other registries that options or the environment name. */
async function compared(
  store: RegistryInspector,
  view: RegistryView,
  call: Call,
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { option, topic, compare } of COMPARED) {
    if (!isStoreNamed(call, option)) continue;
    const look = async (other: RegistryInspector) =>
      compare(view, await other.read(), await store.read());
    found.push(...(await reached(topic, () => withStore(call, look, option))));
  }
  return found;
}

function lineOf({ level, topic, text }: Finding): Painted {
  const rest = `  ${topic.padEnd(11)}  ${text}`;
  return { colour: COLOUR_OF[level], text: level.padEnd(7), rest };
}

/*
 * `snowflake explain`: the runbook for an error code, a state, an alert or a symptom.
 *
 * Guarantee: it reads the page in the package, so it works without a network and matches this
 * version.
 */

const PAGE = 'docs/operating/runbooks.md';
const ONLINE = `${DOCS_URL}/operating/runbooks.md`;
export const explain: Command = {
  name: 'explain',
  summary: 'Explain an error code, a state, an alert or a symptom, and what to do',
  says: ['Without a name it lists all entries. It needs no store and no network.'],
  words: { name: 'name', min: 0, max: Infinity },
  options: { json: { says: 'one JSON object per entry' } },
  examples: [
    'snowflake explain LEASE_LOST',
    'snowflake explain degraded',
    'snowflake explain redis is down',
  ],
  async run(call: Call): Promise<ExitCode> {
    const { options, terminal } = call;
    const page = call.packed(PAGE);
    if (page === undefined) return failed(call, `this installation lacks ${PAGE}; read ${ONLINE}.`);
    const runbooks = runbooksIn(page);
    const name = options.words.join(' ');
    if (options.words.length === 0) {
      if (options.flag('json')) await terminal.printJson(...runbooks);
      else await terminal.print(...runbooks.map(({ title }) => title));
      return 0;
    }
    const found = nearestTo(runbooks, name);
    if (found === undefined) {
      throw usageFault(`There is no runbook ${quoted(name)}. See them all: snowflake explain`);
    }
    const { title, lines } = found;
    return show(call, found, { colour: 'bold', text: title }, ...lines.flatMap(listed));
  },
};

/** The headings of the third level, each with the items of the list below it. */
function runbooksIn(page: string) {
  const [, ...sections] = page.replace(/^## .*$/gm, '### ').split(/^### /m);
  return sections.flatMap((section) => {
    const [title = '', ...body] = section.split('\n');
    const items = plain(body.join('\n')).split(/^- /m).slice(1);
    return title === ''
      ? []
      : [{ title, lines: items.map((item) => item.trim().replaceAll(/\s+/g, ' ')) }];
  });
}

/**
 * Removes Markdown, except around code, so that a user can copy the code. A link to another runbook
 * becomes a reference to its title.
 */
const plain = (text: string): string =>
  text
    .replaceAll('**', '')
    .replace(/:\s+\[([^\]]*)\]\(#[^)]*\)/g, ': see "$1"')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1');

/** The runbook with that title, or else the first with all words in its title, or in its text. */
function nearestTo<R extends { title: string; lines: string[] }>(runbooks: R[], words: string) {
  const asked = addressOf(words);
  const all = asked.split('-').filter((part) => part !== '');
  // Single letters occur in every entry.
  const parts = all.some((part) => part.length > 2) ? all : [];
  const has = (text: string) => parts.every((part) => text.includes(part.replace(/s$/, '')));
  return (
    runbooks.find(({ title }) => addressOf(title) === asked) ??
    (parts.length === 0 ? undefined : runbooks.find(({ title }) => has(addressOf(title)))) ??
    (parts.length < 2 ? undefined : runbooks.find(({ lines }) => has(addressOf(lines.join(' ')))))
  );
}

/** The anchor of a heading: lower case, with hyphens for spaces. */
const addressOf = (title: string): string =>
  title
    .toLowerCase()
    .replace(/^#/, '')
    .replace(/[^a-z0-9_]+/g, '-')
    .replace(/^-|-$/g, '');

function listed(item: string): string[] {
  return wrapped(item).map((line, at) => (at === 0 ? `- ${line}` : `  ${line}`));
}
