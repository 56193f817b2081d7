/**
 * The attack on API keys, against the unchanged code and every broken variant of it. The test
 * records calls of node:crypto and of the key parser.
 */
import { describe, expect, it, jest } from '@jest/globals';
import { API_KEY_MUTANTS } from '../mutants/api-key-mutants.mjs';
import { loadKeyAttack } from '../mutants/load-library.mjs';
import type { Watch } from './key-attack.js';

type Crypto = typeof import('node:crypto');

const calls: string[] = [];

/** The real functions. Each call is recorded with its lengths. */
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

describe('the attack on API keys', () => {
  it('finds no flaw in the unchanged code', async () => {
    const { attackKeys } = await loadKeyAttack();
    expect(await attackKeys(watch)).toEqual([]);
  });

  it('records the calls: one hash and one comparison for each issued key', async () => {
    const { ApiKeys } = await import('../../lib/api-keys/api-keys.js');
    const keys = new ApiKeys({ prefix: 'shop' });
    const { key, hash } = keys.issue(7n);
    const seen = await watch(() => keys.verify(key, hash));
    expect(seen).toEqual({
      answer: true,
      calls: 'bytes of hex, createHash, timingSafeEqual 32 32',
    });
  });

  it.each(API_KEY_MUTANTS)('detects the flaw: $name', async ({ edits, breaks }) => {
    const { attackKeys } = await loadKeyAttack(edits);
    expect(await attackKeys(watch)).toContain(breaks);
  });
});
