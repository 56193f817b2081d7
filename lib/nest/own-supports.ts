/**
 * Reads the option `supports`: URL schemes of the application, each with a function that turns a
 * URL into a support. No scheme of this package is replaced.
 */
import { backendOfScheme, type OwnSupports, type SupportFromUrl } from '../backends/schemes.js';
import { shown } from '../shown.js';

/** As in RFC 3986, in lower case. */
const SCHEME = /^[a-z][a-z0-9+.-]*$/;

/** @param faults takes one for each entry that cannot be used */
export function ownSupports(given: unknown, faults: string[]): OwnSupports {
  if (given === undefined) return new Map();
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    faults.push(
      `Expected \`supports\` to be an object of functions by URL scheme, got ${shown(given)}.`,
    );
    return new Map();
  }
  const entries = Object.entries(given as Record<string, unknown>);
  const found = entries.map(([scheme, make]) => faultOf(scheme, make));
  faults.push(...found.filter((fault) => fault !== undefined));
  return new Map(entries.filter((_, at) => found[at] === undefined) as [string, SupportFromUrl][]);
}

function faultOf(scheme: string, make: unknown): string | undefined {
  if (!SCHEME.test(scheme)) {
    return (
      `Expected each name in \`supports\` to be a URL scheme without its colon (lower-case ` +
      `letters, digits, +, - and ., a letter first), got ${shown(scheme)}.`
    );
  }
  if (backendOfScheme(scheme) !== undefined) {
    return `The scheme \`${scheme}\` in \`supports\` belongs to this package; choose another name.`;
  }
  if (typeof make === 'function') return undefined;
  return `Expected \`supports.${scheme}\` to be a function of a URL, got ${typeof make}.`;
}
