/**
 * Values that people give by mistake, each with a password in it where it has room for one.
 */
import { fileURLToPath } from 'node:url';
import { TRACE } from './sinks.js';

const URL_WITH_PASSWORD = `redis://:${TRACE}@127.0.0.1:1/0`;

/** Texts as they come from an environment, a file or another field of a form. */
export const WRONG_TEXTS: Readonly<Record<string, string>> = {
  empty: '',
  'a blank': ' ',
  'a tab and a line break': '\t\n',
  'the word undefined': 'undefined',
  'the word null': 'null',
  'in quotes': '"60000"',
  'a URL of a store': URL_WITH_PASSWORD,
  'a URL of another server': `amqp://user:${TRACE}@host`,
  'a URL in quotes': `"${URL_WITH_PASSWORD}"`,
  'a variable that nobody filled in': '${VALUE}',
  'a number as text': '60000',
  'a number with a unit': '60s',
  'a hexadecimal number': '0x10',
  'what every object has': 'constructor',
  'the name of a prototype': '__proto__',
  'a control character': 'a\u0007b',
  'a path that is a file': fileURLToPath(import.meta.url),
};

/** Undefined is none of them: it is an option that is left out. */
export const WRONG_VALUES: Readonly<Record<string, unknown>> = {
  ...WRONG_TEXTS,
  zero: 0,
  'below zero': -1,
  'a fraction': 1.5,
  'seconds where ms are meant': 1_704_067_200,
  'beyond every bound': 1e21,
  NaN,
  Infinity,
  '-Infinity': -Infinity,
  'a bigint': 60_000n,
  'a bigint below zero': -1n,
  true: true,
  false: false,
  null: null,
  'a list': [],
  'a list with a URL in it': [URL_WITH_PASSWORD],
  'an object': {},
  'the options of a client': { host: 'h', password: TRACE, url: URL_WITH_PASSWORD },
  'an object without a prototype': Object.create(null),
  'an invalid Date': new Date(NaN),
  'a URL object': new URL(URL_WITH_PASSWORD),
  bytes: Buffer.from(URL_WITH_PASSWORD),
  'a function': () => undefined,
  'a function that throws': () => {
    throw new Error(`of ${URL_WITH_PASSWORD}`);
  },
  'a promise': Promise.resolve(1),
  'a symbol': Symbol(TRACE),
};
