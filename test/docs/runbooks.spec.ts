/**
 * The runbooks have an entry for every error, state, and alert, and show only existing commands.
 */
import { describe, expect, it } from '@jest/globals';
import { LEASE_STATES } from '../../lib/lease/held-lease.js';
import { readTree } from '../tidy/tree.js';
import { anchorOf, placesOf } from './sections.js';

const TREE = readTree();
const textOf = (path: string): string => TREE.find((file) => file.path === path)?.text ?? '';

describe('docs/operating/runbooks.md', () => {
  const page = textOf('docs/operating/runbooks.md');
  const states = Object.keys(LEASE_STATES).filter((state) => state !== 'active');
  const alerts = textOf('docs/operating/monitoring/alert-rules.yaml').matchAll(/- alert: (\w+)/g);
  const codes = textOf('lib/errors.ts').matchAll(/^ {2}\| '(\w+)'/gm);
  const namesOf = (title: string) => namesUnder(page, title);

  it('has one entry for each error code, state, and alert', () => {
    expect(namesOf('Error codes')).toEqual([...codes].map(([, code]) => code));
    expect(namesOf('States').toSorted()).toEqual(states.toSorted());
    expect(namesOf('Alerts')).toEqual([...alerts].map(([, alert]) => alert));
  });

  it.each([
    ['docs/operating/runbooks.md', ['You see', 'How long you have', 'Do this', 'Back to normal']],
    ['docs/zh/operating/runbooks.md', ['现象', '还有多久', '怎么做', '何时恢复']],
  ])('states the symptom, time, steps, and end in each entry: %s', (path, labels) => {
    const entries = textOf(path)
      .replace(/^## .*$/gm, '### ')
      .split(/^### /m)
      .slice(1);
    const named = entries.filter((entry) => /^\S.*\n\n- \*\*/.test(entry));
    expect(named.length).toBeGreaterThan(50);
    const items = named.map((entry) => [...entry.matchAll(/^- \*\*(.*?)( when)?\*\*/gm)]);
    expect(items.filter((found) => found.map(([, it]) => it).join() !== labels.join())).toEqual([]);
  });

  it('has an entry for each Prometheus rule, at the linked address', () => {
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

/** The entry headings of a section. */
function namesUnder(page: string, title: string): string[] {
  const [, section = ''] = page.split(`\n## ${title}\n`);
  return [...section.split('\n## ')[0]!.matchAll(/^### (.*)$/gm)].map(([, name]) => name!);
}
