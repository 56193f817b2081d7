/**
 * What browsers are told about the page beside its text.
 *
 * Promise: the page runs the one script and the one style that were built into it, talks to where
 * it came from, is framed by nobody and kept by no cache.
 */
import { PAGE } from './page.generated.js';

const SECURITY_POLICY = [
  "default-src 'none'",
  `script-src '${PAGE.scriptHash}'`,
  `style-src '${PAGE.styleHash}'`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

const ANSWER_HEADERS = {
  'Cache-Control': 'no-store',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Robots-Tag': 'noindex',
};

/** For what the page asks. */
export const JSON_HEADERS = {
  ...ANSWER_HEADERS,
  'Content-Type': 'application/json; charset=utf-8',
};

/** For the page itself. */
export const PAGE_HEADERS = {
  ...ANSWER_HEADERS,
  'Content-Security-Policy': SECURITY_POLICY.join('; '),
  'Content-Type': 'text/html; charset=utf-8',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
};
