/**
 * All known URL schemes: those of this package, by purpose, and others that users paste by mistake.
 * A message shows no part of a URL except one of these.
 */
/** The schemes of this package, in lower case and without the colon. */
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

/** Returns the kind of store that a URL's scheme names; undefined for other schemes. */
export function kindOf(url: string): SchemeKind | undefined {
  const scheme = schemeOf(url);
  const found = Object.entries(SCHEMES).find(([, schemes]) => schemes.includes(scheme as never));
  return found?.[0] as SchemeKind | undefined;
}

/** Returns the scheme of a URL, including slashes if present; undefined if unknown. */
export function knownStart(url: string): string | undefined {
  const scheme = schemeOf(url);
  const isKnown = kindOf(url) !== undefined || OF_OTHERS.split(' ').includes(scheme);
  if (!isKnown) return undefined;
  return url.startsWith('//', scheme.length + 1) ? `${scheme}://` : `${scheme}:`;
}

/** Describes texts passed instead of a URL; the first match counts. */
const ODDITIES: readonly (readonly [says: RegExp, words: string])[] = [
  [/^$/, 'an empty text, as of a variable that is set to nothing'],
  [/^\s+$/, 'a text of blanks alone'],
  [/^(undefined|null|NaN)$/, 'the word $1, which a value that is not set becomes in a text'],
  [/^\[object \w+\]$/, 'an object that was made a text; of a URL give its href'],
  [/^["'`]|["'`]$/, 'a text in quotes, which are part of it: take them away'],
  [/^\s|\s$/, 'a text with a blank or a line break at one of its ends: take it away'],
  [/\$[({]|^([a-z]+:)?\$\w/i, 'a text with $, ${ or $( in it, a variable that was not filled in'],
];

/** Describes the error in a text passed as a URL, without repeating any of it. */
export function oddityOf(text: string): string | undefined {
  for (const [says, words] of ODDITIES) {
    const found = says.exec(text);
    if (found !== null) return words.replace('$1', () => found[1] ?? '');
  }
  return undefined;
}
