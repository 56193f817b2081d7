/**
 * Errors of the id library as HTTP answers: a wrong id is the client's fault, a lost lease passes.
 */
import { Catch, HttpStatus, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { SnowflakeError } from 'nestjs-snowflake';

interface Reply {
  status(code: number): { json(body: object): void };
}

@Catch(SnowflakeError)
export class SnowflakeErrorFilter implements ExceptionFilter<SnowflakeError> {
  catch(error: SnowflakeError, host: ArgumentsHost): void {
    const statusCode = statusOf(error);
    const body = { statusCode, error: error.code, message: error.message };
    host.switchToHttp().getResponse<Reply>().status(statusCode).json(body);
  }
}

function statusOf(error: SnowflakeError): HttpStatus {
  if (error.code === 'ID_INVALID') return HttpStatus.BAD_REQUEST;
  return error.retryable ? HttpStatus.SERVICE_UNAVAILABLE : HttpStatus.INTERNAL_SERVER_ERROR;
}
