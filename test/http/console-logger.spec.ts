/**
 * Nest's own logger takes objects with bigint ids as they are, so this library offers no other.
 */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ConsoleLogger, type ConsoleLoggerOptions } from '@nestjs/common';

const ID = 382_366_441_078_288_384n;
const TEXT = '382366441078288384';
const order = { id: ID, lines: [{ id: 1n }], byId: new Map([[ID, 'first']]) };

describe('the console logger of Nest', () => {
  const written: string[] = [];
  beforeEach(() => {
    written.length = 0;
    const write = (chunk: string | Uint8Array) => written.push(String(chunk)) > 0;
    jest.spyOn(process.stdout, 'write').mockImplementation(write);
    jest.spyOn(process.stderr, 'write').mockImplementation(write);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  const logged = (options: ConsoleLoggerOptions, ...values: [unknown, ...unknown[]]) => {
    new ConsoleLogger(options).log(...values);
    return written.join('');
  };

  it('writes bigints as decimal text in JSON', () => {
    const record = JSON.parse(logged({ json: true }, order)) as { message: unknown };
    expect(record.message).toMatchObject({ id: TEXT, lines: [{ id: '1' }] });
  });

  it('writes them in what is logged together with a message', () => {
    expect(logged({ json: true }, 'paid', { id: ID }, 'Orders')).toContain(`"${TEXT}"`);
  });

  it.each([
    ['text', {}],
    ['JSON in colours', { json: true, colors: true }],
    ['JSON on several lines', { json: true, compact: false }],
  ])('shows them with their digits as %s', (_, options) => {
    expect(logged(options, order)).toContain(TEXT);
  });

  it('takes errors that have them', () => {
    const error = Object.assign(new Error('not paid'), { orderId: ID });
    new ConsoleLogger({ json: true }).error(error);
    expect(written.join('')).toContain('not paid');
  });
});
