/**
 * The HTTP headers of the page and of its answers.
 *
 * Promise: the page runs only the script and the style built into it, connects only to its own
 * origin, cannot be framed and is not cached.
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

/** For the answers that the page asks for. */
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
