/**
 * The attack on keys, on the code as it is and on every broken variant of it, with node:crypto
 * and the reading of texts watched.
 */
import { describe, expect, it, jest } from '@jest/globals';
import { API_KEY_MUTANTS } from '../mutants/api-key-mutants.mjs';
import { loadKeyAttack } from '../mutants/load-library.mjs';
import type { Watch } from './key-attack.js';

type Crypto = typeof import('node:crypto');

const calls: string[] = [];

/** The real functions, each of which notes that it was called, and with what lengths. */
function watchedCrypto(): Crypto {
  const real = jest.requireActual<Crypto>('node:crypto');
  const { createHash, createHmac, timingSafeEqual } = real;
  return {
    ...real,
    createHash: (...given: Parameters<typeof createHash>) => {
      calls.push('createHash');
      return createHash(...given);
    },
    createHmac: (...given: Parameters<typeof createHmac>) => {
      calls.push('createHmac');
      return createHmac(...given);
    },
    timingSafeEqual: (...given: Parameters<typeof timingSafeEqual>) => {
      calls.push(`timingSafeEqual ${given.map(({ byteLength }) => byteLength).join(' ')}`);
      return timingSafeEqual(...given);
    },
  };
}

const bytesOf = Buffer.from.bind(Buffer) as (...given: unknown[]) => Buffer;

jest.unstable_mockModule('node:crypto', watchedCrypto);

const watch: Watch = async (run) => {
  calls.length = 0;
  const noted = (...given: unknown[]) => {
    calls.push(`bytes of ${String(given[1])}`);
    return bytesOf(...given);
  };
  const from = jest.spyOn(Buffer, 'from').mockImplementation(noted as typeof Buffer.from);
  try {
    const answer = await run();
    return { answer, calls: calls.join(', ') };
  } finally {
    from.mockRestore();
  }
};

describe('the attack on keys', () => {
  it('finds nothing in the code as it is', async () => {
    const { attackKeys } = await loadKeyAttack();
    expect(await attackKeys(watch)).toEqual([]);
  });

  it('sees the calls: an issued key is hashed once and compared once', async () => {
    const { ApiKeys } = await import('../../lib/api-keys/api-keys.js');
    const keys = new ApiKeys({ prefix: 'shop' });
    const { key, hash } = keys.issue(7n);
    const seen = await watch(() => keys.verify(key, hash));
    expect(seen).toEqual({
      answer: true,
      calls: 'bytes of hex, createHash, timingSafeEqual 32 32',
    });
  });

  it.each(API_KEY_MUTANTS)('kills: $name', async ({ edits, breaks }) => {
    const { attackKeys } = await loadKeyAttack(edits);
    expect(await attackKeys(watch)).toContain(breaks);
  });
});
