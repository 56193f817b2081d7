/**
 * Every scheme of a URL that this package knows, once: ours, by what they name, and those that
 * people paste in their place. A message shows no more of a URL than one of these.
 */
/** Our schemes, in lower case and without the colon. */
export const SCHEMES = {
  static: ['static'],
  memory: ['memory'],
  file: ['file'],
  redis: [
    'redis',
    'rediss',
    'redis+sentinel',
    'rediss+sentinel',
    'redis+cluster',
    'rediss+cluster',
    'valkey',
    'valkeys',
    'valkey+sentinel',
    'valkeys+sentinel',
    'valkey+cluster',
    'valkeys+cluster',
  ],
  etcd: ['etcd', 'etcds'],
  postgres: ['postgres', 'postgresql'],
  mysql: ['mysql', 'mariadb'],
  sqlite: ['sqlite'],
} as const;

type SchemeKind = keyof typeof SCHEMES;

const OF_OTHERS = 'http https tcp unix amqp rabbit mongodb mongodb+srv';

/** The text up to the first colon, in lower case. */
export function schemeOf(url: string): string {
  return /^([^:]*):/.exec(url)?.[1]?.toLowerCase() ?? '';
}

/** Returns the kind that a URL of ours names; undefined for all others. */
export function kindOf(url: string): SchemeKind | undefined {
  const scheme = schemeOf(url);
  const found = Object.entries(SCHEMES).find(([, schemes]) => schemes.includes(scheme as never));
  return found?.[0] as SchemeKind | undefined;
}

/** The scheme of a URL, with its slashes where it has them; undefined where it is not known. */
export function knownStart(url: string): string | undefined {
  const scheme = schemeOf(url);
  const isKnown = kindOf(url) !== undefined || OF_OTHERS.split(' ').includes(scheme);
  if (!isKnown) return undefined;
  return url.startsWith('//', scheme.length + 1) ? `${scheme}://` : `${scheme}:`;
}

/** Describes texts that stand where a URL belongs and are none; the first that fits counts. */
const ODDITIES: readonly (readonly [says: RegExp, words: string])[] = [
  [/^$/, 'an empty text, as of a variable that is set to nothing'],
  [/^\s+$/, 'a text of blanks alone'],
  [/^(undefined|null|NaN)$/, 'the word $1, which a value that is not set becomes in a text'],
  [/^\[object \w+\]$/, 'an object that was made a text; of a URL give its href'],
  [/^["'`]|["'`]$/, 'a text in quotes, which are part of it: take them away'],
  [/^\s|\s$/, 'a text with a blank or a line break at one of its ends: take it away'],
  [/\$[({]|^([a-z]+:)?\$\w/i, 'a text with $, ${ or $( in it, a variable that was not filled in'],
];

/** Says what is odd about a text in the place of a URL, in words that repeat nothing of it. */
export function oddityOf(text: string): string | undefined {
  for (const [says, words] of ODDITIES) {
    const found = says.exec(text);
    if (found !== null) return words.replace('$1', () => found[1] ?? '');
  }
  return undefined;
}
