/**
 * Every option and every parameter of a URL with every wrong value: it is refused with a message
 * that names it, or it is on the list of what may be; nothing else is thrown, and no password is
 * shown. The options are those of the reference, which is compared with the types, and the
 * parameters those that the messages themselves name.
 */
import { describe, expect, it } from '@jest/globals';
import { generatorOf, locksOf } from '../../lib/stores/schemes.js';
import { resolveOptions } from '../../lib/nest/resolve-options.js';
import { AS_DIGITS, DOORS, environment } from './option-doors.js';
import { TRACE, shownError } from './sinks.js';
import { WRONG_TEXTS, WRONG_VALUES } from './wrong-values.js';

const openGenerator = async (url: string) => (await generatorOf(url)).open(environment);
/** With room for a failover of 60 s. */
const startWith = (support: string) => resolveOptions({ support, leaseTtlMs: 600_000 }, true);

/** Of each scheme one URL, and of what is kept there. */
const URLS: readonly (readonly [url: string, use: (url: string) => unknown])[] = [
  ['redis://127.0.0.1:1/0', startWith],
  ['redis+sentinel://127.0.0.1:1/m', startWith],
  ['redis+cluster://127.0.0.1:1', startWith],
  ['etcd://127.0.0.1:1', startWith],
  ['postgres://127.0.0.1:1/a', startWith],
  ['mysql://127.0.0.1:1/a', startWith],
  ['sqlite:./a.db', startWith],
  ['redis://127.0.0.1:1/0', locksOf],
  ['etcd://127.0.0.1:1', locksOf],
  ['postgres://127.0.0.1:1/a', locksOf],
  ['segments+redis://127.0.0.1:1/0?counter=a&', openGenerator],
  ['segments+postgres://127.0.0.1:1/a?counter=a&', openGenerator],
  ['redis-ids+redis://127.0.0.1:1/0?tag=a&', openGenerator],
];

/** What was expected, what there is, or what to do. */
const HELP = new RegExp(
  '\\b(Expected|The options are|known are|Supported forms|It starts with|have the form)\\b|' +
    '\\b(is none of|written as|is for)\\b|: (give|take|write) |[.:] (Check|Give|Leave|Set|Use) ',
);

async function refusalOf(use: () => unknown): Promise<unknown> {
  try {
    const made = (await use()) as { close?: () => unknown; support?: { close?: () => unknown } };
    await (made?.support ?? made)?.close?.();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** What is wrong with a refusal, in words; undefined where nothing is. */
async function oddityOf(error: unknown, named: RegExp): Promise<string | undefined> {
  const { code, message } = error as Error & { code?: string };
  if (!/^(CONFIG|ARGUMENT)_INVALID$/.test(String(code))) return `threw ${String(error)}`;
  if (!named.test(message)) return `did not name it: ${message}`;
  if (!HELP.test(message)) return `did not say what was expected, or what to do: ${message}`;
  return (await shownError(error)).includes(TRACE) ? `showed a password: ${message}` : undefined;
}

async function judged(
  values: Readonly<Record<string, unknown>>,
  use: (value: unknown) => unknown,
  named: RegExp,
): Promise<{ taken: string[]; odd: string[] }> {
  const taken: string[] = [];
  const odd: string[] = [];
  for (const [what, value] of Object.entries(values)) {
    const error = await refusalOf(() => use(value));
    if (error === undefined) taken.push(what);
    const fault = error === undefined ? undefined : await oddityOf(error, named);
    if (fault !== undefined) odd.push(`${what}: ${fault}`);
  }
  return { taken, odd };
}

describe.each(DOORS)('of each $title', ({ names, use, right }) => {
  it.each(names)(
    '%s is refused where it is wrong, in words and without a password',
    async (name) => {
      // What a URL, a list of fields or several options are wrong in has names of its own.
      const named = new RegExp(`${name}|URL|field|exclude|host name`);
      const { taken, odd } = await judged(WRONG_VALUES, (value) => use(name, value), named);
      expect({ odd, taken: taken.toSorted() }).toEqual({
        odd: [],
        taken: [...(right[name] ?? [])].toSorted(),
      });
    },
  );
});

describe.each(URLS)('in %s', (url, use) => {
  const start = url.endsWith('&') ? url : `${url}?`;

  it('each parameter is refused where it is wrong, in words and without a password', async () => {
    const { message } = (await refusalOf(() => use(`${start}unknown=1`))) as Error;
    const known = / known are ([\w, ]+)[.;]/.exec(message)![1]!.split(', ');
    expect(known.length).toBeGreaterThan(2);
    const found: Record<string, string[]> = {};
    for (const name of known) {
      const { taken, odd } = await judged(
        WRONG_TEXTS,
        (value) => use(`${start}${name}=${encodeURIComponent(String(value))}`),
        new RegExp(`${name}|namespace`),
      );
      expect([name, odd]).toEqual([name, []]);
      found[name] = taken;
    }
    for (const name of known.filter((one) => one.endsWith('Ms'))) {
      expect([name, found[name]]).toEqual([name, AS_DIGITS]);
    }
  });
});
