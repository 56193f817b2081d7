/**
 * Whether a request was made by somebody who sits at this host.
 */
import type { IncomingMessage } from 'node:http';

/** An IPv4 client of a socket that takes both is shown in its IPv6 form. */
const LOOPBACK_ADDRESS = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/i;
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * The socket's address alone does not say it. A page of some website can have its own name point to
 * 127.0.0.1 and read answers in the operator's browser (DNS rebinding): then Host names the site.
 * A proxy on this host brings requests from anywhere: then it says so, unless it is set up to be
 * silent and to rewrite Host; behind such a proxy only the password helps.
 */
export function isLocalRequest({
  headers,
  socket,
}: Pick<IncomingMessage, 'headers'> & { socket: { remoteAddress?: string } }): boolean {
  return (
    LOOPBACK_ADDRESS.test(socket.remoteAddress ?? '') &&
    LOOPBACK_HOST.test(headers.host ?? '') &&
    FORWARDED.every((name) => headers[name] === undefined)
  );
}
