/**
 * Keeps the answers from pages of other origins.
 *
 * Promise: whatever CORS the application allows for its own routes, a browser lets no other site
 * read these. Requests without the headers of browsers are left to the application's guards.
 */
import type { CanActivate, ExecutionContext } from '@nestjs/common';

interface BrowserRequest {
  readonly headers: { readonly [name in 'sec-fetch-site' | 'sec-fetch-mode']?: string };
}

export const sameOriginGuard: CanActivate = {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<BrowserRequest>();
    const { 'sec-fetch-site': site = 'none', 'sec-fetch-mode': mode } = headers;
    // A link from elsewhere opens the page; it does not let that site read it.
    return site === 'none' || site === 'same-origin' || mode === 'navigate';
  },
};
