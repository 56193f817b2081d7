/** Which address of a host is taken for a number, and which are refused. */
import { describe, expect, it } from '@jest/globals';
import { privateAddress } from 'nestjs-snowflake/host';

const of = (address: string, internal = false) => ({ address, family: 'IPv4' as const, internal });

describe('the private address of a host', () => {
  it.each([
    ['10.0.3.4', 16, 3 * 256 + 4],
    ['172.16.255.255', 16, 65_535],
    ['192.168.1.2', 8, 2],
    ['10.3.2.1', 22, 3 * 65_536 + 2 * 256 + 1],
  ])('gives the lower bits of %s, %i of them', (address, bits, number) => {
    const interfaces = { lo: [of('127.0.0.1', true)], eth0: [of(address)] };
    expect(privateAddress({ bits, interfaces })()).toBe(number);
  });

  it.each([
    ['none', { eth0: [of('8.8.8.8'), of('172.32.0.1'), of('192.169.0.1'), of('110.0.0.1')] }],
    ['none', { lo: [of('10.0.0.1', true)] }],
    ['none', { eth0: [{ address: 'fd00::1', family: 'IPv6' as const, internal: false }] }],
    ['several', { eth0: [of('10.0.0.1')], docker0: [of('172.17.0.1')] }],
  ])('is refused where there are %s', (what, interfaces) => {
    const said = what === 'none' ? 'no private IPv4 address' : '10.0.0.1 (eth0), 172.17.0.1 (do';
    expect(privateAddress({ interfaces })).toThrow(said);
  });

  it('is that of the interface that was named', () => {
    const interfaces = { eth0: [of('10.0.0.1')], docker0: [of('172.17.0.9')] };
    expect(privateAddress({ interface: 'eth0', interfaces })()).toBe(1);
    const ofNone = privateAddress({ interface: 'eth1', interfaces });
    expect(ofNone).toThrow('The interface "eth1" (string) has no private IPv4 address');
  });

  it.each([0, 23, 1.5, Number.NaN])('has no %j bits', (bits) => {
    expect(() => privateAddress({ bits })).toThrow('Expected `bits` to be an integer from 1 to 22');
  });
});
