/**
 * Published vectors for the parts of a key, and existing keys that must stay readable forever.
 */
import { describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { ApiKeys, hmacApiKey } from '../../lib/api-keys/index.js';
import { SECRET_WIDTH, base62Of, hmacOf, KeyText } from '../../lib/api-keys/key-text.js';

const ID = 382_366_441_078_288_384n;
const SECRETS = {
  a: '0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef',
  b: 'fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210',
};
const PEPPER = '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff';

const filled = (byte: number, count: number) => new Uint8Array(count).fill(byte);
const bytes = (text: string) => new TextEncoder().encode(text);

/** The test cases whose messages are ASCII. */
describe('HMAC', () => {
  const LONG_KEY = 'Test Using Larger Than Block-Size Key - Hash Key First';
  it.each(
    [
      [filled(0x0b, 16), 'Hi There', '9294727a3638bb1c13f48ef8158bfc9d'],
      [bytes('Jefe'), 'what do ya want for nothing?', '750c783e6ab0b503eaa86e310a5db738'],
      [filled(0x0c, 16), 'Test With Truncation', '56461ef2342edc00f9bab995690efd4c'],
      [filled(0xaa, 80), LONG_KEY, '6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd'],
      [
        filled(0xaa, 80),
        'Test Using Larger Than Block-Size Key and Larger Than One Block-Size Data',
        '6f630fad67cda0ee1fb1f562db3aa53e',
      ],
    ].map((row) => row as [Uint8Array, string, string]),
  )('matches vector %# of RFC 2202 for MD5', (key, message, expected) => {
    expect(hmacOf('md5', key, message).toString('hex')).toBe(expected);
  });

  it.each([
    [
      filled(0x0b, 20),
      'Hi There',
      'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    ],
    [
      bytes('Jefe'),
      'what do ya want for nothing?',
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    ],
    [
      filled(0xaa, 131),
      LONG_KEY,
      '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    ],
    [
      filled(0xaa, 131),
      'This is a test using a larger than block-size key and a larger than block-size data. ' +
        'The key needs to be hashed before being used by the HMAC algorithm.',
      '9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2',
    ],
  ] as [Uint8Array, string, string][])(
    'matches vector %# of RFC 4231 for SHA-256',
    (key, message, expected) => {
      expect(hmacOf('sha256', key, message).toString('hex')).toBe(expected);
    },
  );
});

describe('the encoding of a key', () => {
  it('uses the CRC-32 of ISO 3309, whose check value is CBF43926', () => {
    expect(crc32('123456789').toString(16)).toBe('cbf43926');
    const text = new KeyText('shop', []).write('shop_', '');
    expect(text).toBe(`shop_${base62(BigInt(crc32('shop_'))).padStart(6, '0')}`);
  });

  it('uses base 62, like repeated division of a BigInt', () => {
    const samples = [
      filled(0, 32),
      filled(0xff, 32),
      ...[0, 15, 16, 31].map((at) => Uint8Array.from(filled(0, 32), (_, n) => (n === at ? 1 : 0))),
      ...Array.from({ length: 300 }, (_, n) => createHash('sha256').update(String(n)).digest()),
    ];
    for (const sample of samples) {
      const value = BigInt(`0x${Buffer.from(sample).toString('hex')}`);
      expect(base62Of(sample)).toBe(base62(value).padStart(SECRET_WIDTH, '0'));
    }
  });
});

/** A second implementation that uses long division. */
function base62(value: bigint): string {
  const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  return value === 0n ? '' : base62(value / 62n) + alphabet[Number(value % 62n)]!;
}

describe('keys already in use', () => {
  // Computed by a second implementation, in another language.
  const DERIVED = [
    'shop_live_a_00000000000xI2gmnVDwD64rEblmhcdIpeks4oQAA8BDl5efmzXlGY1EZWrN',
    'shop_live_a_0SFF1cOosoSMXbymdxJ2ef9L50Sb5W4U2XvSRjXdfcOys6FR53Ojk10iUPCH',
    'shop_live_a_AzL8n0Y58m72SKcFGhjM0zMRfdNHMFaZ0PQzltuhIzOociEWD5rK1H3MOl7q',
  ];
  const STORED = 'shop_live_0SFF1cOosoS003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf07HyW2';

  it('derive to the same text for each secret and each prefix', () => {
    const keys = new ApiKeys({ prefix: 'shop_live', secrets: SECRETS, deriveWith: 'a' });
    const all = [0n, ID, 2n ** 63n - 1n].map((id) => keys.derive(id));
    expect(all).toEqual(DERIVED);
    expect(all.map((key) => keys.verifyDerived(key))).toEqual([true, true, true]);
    const later = new ApiKeys({ prefix: 'shop_live', secrets: SECRETS, deriveWith: 'b' });
    expect(later.derive(ID)).toBe(
      'shop_live_b_0SFF1cOosoStBfPK3xR1lHWKCklsmjbu7NSoJrZV1yUbaJmCFPmIo44CU1Vl',
    );
    const test = new ApiKeys({ prefix: 'shop_test', secrets: { a: SECRETS.a } });
    expect(test.derive(ID)).toBe(
      'shop_test_a_0SFF1cOosoSbBldEXFY69Zxp5U2KCdLCySArGUfaFWznPbplsEx2o81El60c',
    );
  });

  it('match their stored hashes, with and without a pepper', () => {
    const plain = new ApiKeys({ prefix: 'shop_live' });
    const peppered = new ApiKeys({ prefix: 'shop_live', pepper: PEPPER });
    const sha256 = 'fb5305f9226b7effd94418f04a120b726c5455830fc3aa4199c847b6f16454eb';
    const hmac = '2a89c1ca732eb53332a309e171e89de9de6be4287d02ee1d5af4abb7ecd7b23f';
    expect(plain.parse(STORED)).toEqual({ keyId: String(ID) });
    expect([plain, peppered].map((keys) => keys.verify(STORED, sha256))).toEqual([true, false]);
    expect([plain, peppered].map((keys) => keys.verify(STORED, hmac))).toEqual([false, true]);
  });

  it('match other systems: HmacMD5 and HmacSHA256 of the decimal text', () => {
    const secret = 'legacy secret';
    const md5 = hmacApiKey(ID, { secret, algorithm: 'md5' });
    const sha256 = hmacApiKey(String(ID), { secret: bytes(secret), algorithm: 'sha256' });
    expect(md5).toBe('017d494f814e01242edc13d5f54c44f2');
    expect(sha256).toBe('ee061c0b24bd82725b76cff2f412743fe0411b329f2d3ef4b9d80074893c73a3');
  });
});
