/**
 * Every store whose URL has hosts uses one grammar. The same mistake is the same error in each
 * store, all errors are reported at once, and messages repeat nothing from the URL.
 */
import { describe, expect, it } from '@jest/globals';
import { isSnowflakeError } from '../../lib/errors.js';
import { optionsOfUrl } from '../../lib/stores/etcd/etcd-options.js';
import { supportOptionsOfUrl } from '../../lib/stores/redis/redis.support.js';
import { parseSqlUrl } from '../../lib/stores/sql/sql-options.js';

/** Parses the URL with its store, with `rest` after the host. */
const STORES: Readonly<Record<string, (host: string, rest?: string) => unknown>> = {
  redis: (host, rest = '') => supportOptionsOfUrl(`redis://${host}/0${rest}`),
  postgres: (host, rest = '') => parseSqlUrl(`postgres://${host}/shop${rest}`),
  mysql: (host, rest = '') => parseSqlUrl(`mysql://${host}/shop${rest}`),
  etcd: (host, rest = '') => optionsOfUrl(`etcd://${host}/${rest}`),
};

function messageOf(read: () => unknown): string {
  try {
    read();
  } catch (error) {
    if (isSnowflakeError(error) && error.code === 'CONFIG_INVALID') return error.message;
    throw error;
  }
  return 'none';
}

describe.each(Object.entries(STORES))('a URL of %s', (_name, read) => {
  it.each([
    ['h', '?namespace=shop'],
    ['user:p%40%2F%23@h:1', ''],
    ['user:p#ss?w@[::1]:1', ''],
  ])('may be that of %s', (host, rest) => {
    expect(messageOf(() => read(host, rest))).toBe('none');
  });

  it.each([
    ['h:0', '', '0 is not a port from 1 to 65535'],
    ['h_1:65536', '', '65536 is not a port from 1 to 65535'],
    ['::1', '', 'its host number 1 is not written as host or host:port'],
    ['', '', 'its host number 1 is not written as host or host:port'],
    ['h', '?namespace=a&namespace=b', 'it gives one of its parameters twice'],
    ['h', '?namespace=hunter2=1', 'its namespace holds = or @'],
    ['h', '?hunter2=1', 'its parameter number 1 is not known'],
    ['h', '?namspace=1', 'did you mean `namespace`?'],
    ['h', '?namespace=shop#hunter2', 'a # in it must be written %23'],
    ['user:hunter2/@h', '', 'a / or @ in its user or password must be written %2F or %40'],
    ['h', '?namespace=hunter 2', 'it contains a space, a line break or another invisible'],
  ])('is refused for %s%s', (host, rest, fault) => {
    const message = messageOf(() => read(host, rest));
    expect(message).toContain(fault);
    expect(message).not.toContain('hunter2');
  });

  it('is refused with all its faults at once', () => {
    const message = messageOf(() => read('h:0', '?namespace=a&namespace=b&hunter2=1'));
    for (const fault of ['0 is not a port', 'parameters twice', 'parameter number 2']) {
      expect(message).toContain(fault);
    }
  });
});
