/**
 * Keeps pages of other origins from reading the answers.
 *
 * Promise: whatever CORS allows for the application's own routes, no browser lets another site read
 * these, over plain HTTP either. Requests without browser headers are left to the application's
 * guards.
 */
import type { CanActivate, ExecutionContext } from '@nestjs/common';

type HeaderName = 'sec-fetch-site' | 'sec-fetch-mode' | 'origin' | 'host' | ':authority';
type Headers = { readonly [name in HeaderName]?: string };

export const sameOriginGuard: CanActivate = {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Headers }>();
    const { 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers;
    // No script can set these two. A link from another site opens the page, but does not let that
    // site read it. They are also right where a proxy rewrites Host.
    if (site === 'same-origin' || mode === 'navigate') return true;
    return site === 'none' && isOfHost(headers);
  },
};

/**
 * Over plain HTTP a browser sends no Sec-Fetch-Site, and with a GET it sends Origin only to other
 * origins. X-Forwarded-Host is not used: where CORS is open, scripts can set it.
 */
function isOfHost({ origin, host, ':authority': authority }: Headers): boolean {
  if (origin === undefined) return true;
  const named = host ?? authority;
  if (!URL.canParse(origin) || named === undefined) return false;
  const { protocol, host: originHost } = new URL(origin);
  const own = `${protocol}//${named}`;
  // Parsed as a URL, so that case, default ports and IPv6 are written in one way.
  return originHost !== '' && URL.canParse(own) && new URL(own).host === originHost;
}
