/**
 * Keeps the answers from pages of other origins.
 *
 * Promise: whatever CORS the application allows for its own routes, a browser lets no other site
 * read these, over plain HTTP too. Requests without the headers of browsers are left to the
 * application's guards.
 */
import type { CanActivate, ExecutionContext } from '@nestjs/common';

type HeaderName = 'sec-fetch-site' | 'sec-fetch-mode' | 'origin' | 'host' | ':authority';
type Headers = { readonly [name in HeaderName]?: string };

export const sameOriginGuard: CanActivate = {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Headers }>();
    const { 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers;
    // No script can write these two. A link from elsewhere opens the page; it does not let that
    // site read it. The word of the browser counts also where a proxy rewrites Host.
    if (site === 'same-origin' || mode === 'navigate') return true;
    return site === 'none' && isOfHost(headers);
  },
};

/**
 * Over plain HTTP a browser sends no Sec-Fetch-Site, and Origin only to another origin than that of
 * the page, for a GET. X-Forwarded-Host is not asked: where CORS is open, scripts can write it.
 */
function isOfHost({ origin, host, ':authority': authority }: Headers): boolean {
  if (origin === undefined) return true;
  const named = host ?? authority;
  if (!URL.canParse(origin) || named === undefined) return false;
  const { protocol, host: originHost } = new URL(origin);
  const own = `${protocol}//${named}`;
  // Read as a URL, so that case, a port that goes without saying and IPv6 are written one way.
  return originHost !== '' && URL.canParse(own) && new URL(own).host === originHost;
}
