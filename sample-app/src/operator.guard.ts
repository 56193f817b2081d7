/**
 * Admits operators to the dashboard by HTTP Basic. Behind a proxy every request has the address of
 * this host, so the address proves nothing.
 */
import { Injectable, Logger, UnauthorizedException } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { config } from './config.js';

const hashOf = (text = ''): Buffer => createHash('sha256').update(text).digest();

@Injectable()
export class OperatorGuard implements CanActivate {
  private readonly wanted: Buffer;

  constructor() {
    const password = config.operatorPassword ?? randomBytes(12).toString('hex');
    this.wanted = hashOf(`Basic ${Buffer.from(`operator:${password}`).toString('base64')}`);
    if (config.operatorPassword !== undefined) return;
    new Logger('Operator').log(`For /snowflake: user operator, password ${password}`);
  }

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const { authorization } = http.getRequest<IncomingMessage>().headers;
    if (timingSafeEqual(hashOf(authorization), this.wanted)) return true;
    http.getResponse<ServerResponse>().setHeader('WWW-Authenticate', 'Basic realm="operators"');
    throw new UnauthorizedException();
  }
}
