/**
 * What a URL and the options of the etcd support may say; nothing wrong of them is repeated.
 */
import { describe, expect, it } from '@jest/globals';
import { settingsOf, optionsOfUrl } from '../../lib/stores/etcd/etcd-options.js';
import { etcdSupport } from '../../lib/stores/etcd/index.js';
import { supportFromUrl } from '../../lib/stores/etcd/etcd.support.js';

function faultOf(run: () => unknown): { message: string; details: { faults: string[] } } {
  try {
    run();
  } catch (error) {
    if ((error as { code?: string }).code !== 'CONFIG_INVALID') throw error;
    return error as ReturnType<typeof faultOf>;
  }
  throw new Error('Expected a fault, got none.');
}

describe('a URL', () => {
  it.each([
    ['etcd://a', ['http://a:2379/'], {}],
    ['ETCD://a:1/', ['http://a:1/'], {}],
    ['etcd://a,b:80,[::1]:3', ['http://a:2379/', 'http://b/', 'http://[::1]:3/'], {}],
    ['etcds://a:443', ['https://a/'], {}],
    ['etcd://u:p%40%2F@a', ['http://a:2379/'], { username: 'u', password: 'p@/' }],
    ['etcd://a?namespace=shop', ['http://a:2379/'], { namespace: 'shop' }],
    ['etcds://a?servername=b', ['https://a:2379/'], { tls: { servername: 'b' } }],
    [
      'etcd://a?failoverWindowMs=1&clockDifferenceMs=2&requestTimeoutMs=30',
      ['http://a:2379/'],
      { failoverWindowMs: 1, clockDifferenceMs: 2, requestTimeoutMs: 30 },
    ],
  ])('%s names members and options', (url, endpoints, rest) => {
    const settings = settingsOf(optionsOfUrl(url));
    expect(settings.endpoints.map(String)).toEqual(endpoints);
    expect(settings).toMatchObject(rest);
  });

  it('has defaults for all the rest, and says where its registry lies', () => {
    const support = supportFromUrl('etcd://user:hunter2@a,b:1?namespace=shop');
    expect(support.location).toBe('etcd at a:2379,b:1, snowflake/shop/');
    expect(support.lossWindowMs).toBe(2000);
    expect(supportFromUrl('etcd://a?clockDifferenceMs=1001').lossWindowMs).toBe(3000);
  });

  it('is refused with all its faults at once', () => {
    const url = 'etcd://a:99999,b c,?prefix=hunter2&hunter2=1&ca=x'.replace(' ', '%20');
    const { message } = faultOf(() => supportFromUrl(url));
    for (const fault of [
      '99999 is not a port from 1 to 65535',
      'its host number 2 is not written as host or host:port',
      'its host number 3 is not written as host or host:port',
      '"prefix" is not known; known are namespace, ',
      'its parameter number 2 is not known',
      'its ca is for TLS: write etcds://',
    ]) {
      expect(message).toContain(fault);
    }
    expect(message).toMatch(/^The support URL cannot be used: /);
    expect(message).not.toContain('hunter2');
  });

  it('is refused where a file cannot be read, by its parameter and not by its path', () => {
    const { message } = faultOf(() => supportFromUrl('etcds://a?ca=/nowhere/hunter2.pem'));
    expect(message).toContain('the file that its ca names cannot be read (ENOENT)');
    expect(message).not.toContain('hunter2');
  });
});

describe('options', () => {
  const good = { endpoints: ['https://a:2379'] };
  it.each([
    [undefined, 'Expected `endpoints` to be a list of addresses'],
    ['etcd://a', 'Expected `endpoints` to be a list of addresses'],
    [{ endpoints: [] }, 'Expected `endpoints` to be a list of addresses'],
    [{ endpoints: ['a:2379'] }, 'Expected number 1 of `endpoints` to be written as'],
    [{ endpoints: ['https://a', 7] }, 'Expected number 2 of `endpoints`'],
    [{ endpoints: ['https://u:hunter2@a'] }, 'Expected number 1 of `endpoints`'],
    [{ endpoints: ['https://a/hunter2'] }, 'Expected number 1 of `endpoints`'],
    [{ endpoints: ['https://a:0'] }, '0 is not a port'],
    [{ endpoints: ['https://a', 'http://b'] }, 'all http or all https'],
    [{ ...good, namespace: 'a/b' }, 'Expected `namespace`'],
    [{ ...good, namespace: '' }, 'Expected `namespace`'],
    [{ ...good, namespace: 7 }, 'Expected `namespace`'],
    [{ ...good, username: 'a' }, '`username` and `password` together'],
    [{ ...good, username: 'a', password: '' }, 'Expected `password`'],
    [{ ...good, tls: 'hunter2' }, 'Expected `tls` to be'],
    [{ ...good, tls: { rejectUnauthorized: false } }, '`tls` takes ca, cert, key and servername'],
    [{ ...good, tls: { ca: '' } }, 'Expected `tls.ca`'],
    [{ ...good, tls: { cert: 'x' } }, '`tls.cert` and `tls.key` together'],
    [{ endpoints: ['http://a'], tls: { ca: 'x' } }, '`tls` is given'],
    [{ ...good, failoverWindowMs: -1 }, 'Expected `failoverWindowMs`'],
    [{ ...good, clockDifferenceMs: 0.5 }, 'Expected `clockDifferenceMs`'],
    [{ ...good, requestTimeoutMs: 9 }, 'Expected `requestTimeoutMs`'],
    [{ ...good, namspace: 'a' }, 'Did you mean `namespace`? The options are endpoints, '],
  ])('%j are refused', (options, fault) => {
    const { message } = faultOf(() => etcdSupport(options as never));
    expect(message).toContain(fault);
    expect(message).not.toContain('hunter2');
  });

  it('are refused with all their faults at once', () => {
    const options = { endpoints: [7], namespace: '', password: 'p', requestTimeoutMs: 0 };
    expect(faultOf(() => etcdSupport(options as never)).details.faults).toHaveLength(4);
  });
});
