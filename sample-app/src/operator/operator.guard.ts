/**
 * Lets operators in: by OPERATOR_PASSWORD where it is set, else whoever sits at this host.
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
import { readConfig } from '../config.js';
import { isLocalRequest } from './local-request.js';

const CHALLENGE = 'Basic realm="Shop, for operators", charset="UTF-8"';

@Injectable()
export class OperatorGuard implements CanActivate {
  private readonly password = readConfig().operatorPassword;

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<IncomingMessage>();
    if (this.password === undefined) {
      if (isLocalRequest(request)) return true;
      throw new ForbiddenException(
        'Only requests from the host itself are let in. Set OPERATOR_PASSWORD and restart to be ' +
          'asked for a password instead.',
      );
    }
    const given = passwordIn(request.headers.authorization);
    if (given !== undefined && isEqual(given, this.password)) return true;
    http.getResponse<ServerResponse>().setHeader('WWW-Authenticate', CHALLENGE);
    throw new UnauthorizedException('Send the OPERATOR_PASSWORD, with any user name.');
  }
}

/** A user name holds no colon; a password may. */
function passwordIn(authorization = ''): string | undefined {
  const encoded = /^Basic +(?<encoded>\S+)$/i.exec(authorization)?.groups?.['encoded'];
  const [, password] = /^[^:]*:(.*)$/s.exec(Buffer.from(encoded ?? '', 'base64').toString()) ?? [];
  return password;
}

/** In a time that tells nothing, neither of the characters nor of their number. */
function isEqual(given: string, expected: string): boolean {
  const hashOf = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(hashOf(given), hashOf(expected));
}
