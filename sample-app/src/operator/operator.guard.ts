/**
 * Admits operators by their password. The address of a request does not matter: behind a proxy on
 * this host every request comes from 127.0.0.1, and many proxies add no other address.
 */
import {
  ForbiddenException,
  Injectable,
  UnauthorizedException,
  type CanActivate,
  type ExecutionContext,
} from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { OperatorPassword } from './operator-password.js';

const CHALLENGE = 'Basic realm="Shop, for operators", charset="UTF-8"';

@Injectable()
export class OperatorGuard implements CanActivate {
  constructor(private readonly password: OperatorPassword) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const { text, hint } = this.password;
    if (text === undefined) throw new ForbiddenException(`Nobody is let in: ${hint}.`);
    const { authorization } = http.getRequest<IncomingMessage>().headers;
    const given = passwordIn(authorization);
    if (given !== undefined && isEqual(given, text)) return true;
    http.getResponse<ServerResponse>().setHeader('WWW-Authenticate', CHALLENGE);
    throw new UnauthorizedException('Send the password of the operators, with any user name.');
  }
}

/** A user name contains no colon; a password may. */
function passwordIn(authorization = ''): string | undefined {
  const encoded = /^Basic +(?<encoded>\S+)$/i.exec(authorization)?.groups?.['encoded'];
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? [];
  return password;
}

/** In constant time, which reveals neither the characters nor their number. */
function isEqual(given: string, expected: string): boolean {
  const hashOf = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hashOf(given), hashOf(expected));
}
