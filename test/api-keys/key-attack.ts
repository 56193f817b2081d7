/**
 * Properties of API keys, as one function that also runs on broken variants. It receives the calls
 * of node:crypto, so constant time follows from the calls, not from a measurement.
 */
import { ApiKeys } from '../../lib/api-keys/api-keys.js';
import { KeyText } from '../../lib/api-keys/key-text.js';

const PEPPER = 'a pepper of at least 32 characters';
const SECRETS = {
  a: 'secret a of at least 32 characters',
  b: 'secret b of at least 32 characters',
};
const ONE_COMPARISON = /^(?!.*timingSafeEqual.*timingSafeEqual).*timingSafeEqual (32 32|43 43)/;

/** Runs a function, and returns its calls of node:crypto with their lengths. */
export type Watch = (run: () => unknown) => Promise<{ answer: unknown; calls: string }>;

const keys = new ApiKeys({
  prefix: 'shop',
  pepper: PEPPER,
  secrets: SECRETS,
  deriveWith: 'a',
});
const issued = keys.issue(7n);
const derived = keys.derive(7n);
const ofOther = keys.issue(7n);
const text = new KeyText('shop', ['a', 'b']);

/** A key of another ID with a valid check, as an attacker who has the format would forge it. */
const moved = (key: string) => text.write(text.headOf(8n), text.secretIn(key));
const renamed = text.write(text.headOf(7n, 'b'), text.secretIn(derived));
const movedDerived = text.write(text.headOf(8n, 'a'), text.secretIn(derived));
/** Keys that differ only in the last or only in the first character. */
const near = [-1, 0].map((at) => {
  const secret = text.secretIn(derived).split('');
  const location = secret.at(at) === 'A' ? 'B' : 'A';
  secret[at < 0 ? secret.length + at : at] = location;
  return text.write(text.headOf(7n, 'a'), secret.join(''));
});

interface Claim {
  readonly name: string;
  readonly holds: (watch: Watch) => Promise<boolean>;
}

/** Every run makes the same calls, including one comparison of equal lengths. */
async function haveSameWork(watch: Watch, runs: readonly (() => unknown)[]): Promise<boolean> {
  const all: string[] = [];
  for (const run of runs) all.push((await watch(run)).calls);
  return all.every((calls) => calls === all[0] && ONE_COMPARISON.test(calls));
}

const CLAIMS: readonly Claim[] = [
  {
    name: 'a right key is right',
    holds: async () => keys.verify(issued.key, issued.hash) && keys.verifyDerived(derived),
  },
  {
    name: 'a key is right for its own hash alone',
    holds: async () =>
      ![ofOther.hash, undefined, null].some((hash) => keys.verify(issued.key, hash)) &&
      !keys.verify(moved(issued.key), issued.hash),
  },
  {
    name: 'a hash needs the pepper',
    holds: async () => !new ApiKeys({ prefix: 'shop' }).verify(issued.key, issued.hash),
  },
  {
    name: 'a derived key is right for its own id, name and prefix alone, to the last character',
    holds: async () => {
      const other = new KeyText('other', ['a']);
      const ofPrefix = new ApiKeys({ prefix: 'other', secrets: { a: SECRETS.a } });
      const elsewhere = other.write(other.headOf(7n, 'a'), text.secretIn(derived));
      const forged = [renamed, movedDerived, ...near];
      return !forged.some((key) => keys.verifyDerived(key)) && !ofPrefix.verifyDerived(elsewhere);
    },
  },
  {
    name: 'no two keys are equal',
    holds: async () => issued.key !== ofOther.key && issued.hash !== ofOther.hash,
  },
  {
    name: 'a wrong check is not read, at any digit',
    holds: async () => {
      const wrong = Array.from({ length: 6 }, (_, at) => {
        const from = issued.key.length - 6 + at;
        const digit = issued.key[from] === '0' ? '1' : '0';
        return issued.key.slice(0, from) + digit + issued.key.slice(from + 1);
      });
      return !wrong.some((key) => keys.parse(key));
    },
  },
  {
    name: 'verify does one work: right, wrong and without a row',
    holds: (watch) =>
      haveSameWork(
        watch,
        [issued.hash, ofOther.hash, undefined, null].map(
          (hash) => () => keys.verify(issued.key, hash),
        ),
      ),
  },
  {
    name: 'verifyDerived does one work: right, and wrong from the first or last character on',
    holds: (watch) =>
      haveSameWork(
        watch,
        [derived, renamed, movedDerived, ...near].map((key) => () => keys.verifyDerived(key)),
      ),
  },
  {
    name: 'a text that is no key is not read and costs no hash',
    holds: async (watch) => {
      const texts = ['', 'shop_', issued.key.slice(1), `${issued.key}0`, issued.key.toLowerCase()];
      for (const one of texts) {
        const { answer, calls } = await watch(() => keys.parse(one) ?? keys.verifyDerived(one));
        if (answer !== false || calls !== '' || keys.verify(one, issued.hash)) return false;
      }
      return true;
    },
  },
];

/** @returns the names of the claims that do not hold */
export async function attackKeys(watch: Watch): Promise<string[]> {
  const broken: string[] = [];
  for (const { name, holds } of CLAIMS) {
    if (!(await holds(watch).catch(() => false))) broken.push(name);
  }
  return broken;
}
