/**
 * The user that the chaos tries is the one of the guide, and every right of it is taken away once.
 */
import { describe, expect, it } from '@jest/globals';
import { LATER, mistakesIn, userOfGuide } from './mistakes/clients.mjs';

const GUIDE =
  'Make it:\n\nACL SETUSER shop on >secret ~snowflake:{shop}:registry +eval +hset +info\n';

describe('userOfGuide', () => {
  it('finds the command in the guide', () => {
    const { user, namespace, words } = userOfGuide();
    expect(user).not.toBe('');
    expect(words).toContain(`~snowflake:{${namespace}}:registry`);
    expect(words).toEqual(expect.arrayContaining(['on', '+evalsha', ...Object.keys(LATER)]));
  });

  it('reads it word by word', () => {
    const words = ['on', '>secret', '~snowflake:{shop}:registry', '+eval', '+hset', '+info'];
    expect(userOfGuide(GUIDE)).toEqual({
      user: 'shop',
      password: 'secret',
      namespace: 'shop',
      words,
    });
  });

  it('refuses a guide that has none', () => {
    expect(() => userOfGuide('ACL LIST')).toThrow('makes no user that can be tested');
  });
});

describe('mistakesIn', () => {
  it('takes every right away once, but those that a start does not need', () => {
    const { words } = userOfGuide(GUIDE);
    const taken = mistakesIn(words).map((mistake) =>
      words.filter((word) => !mistake.words.includes(word)).join(' '),
    );
    const pattern = '~snowflake:{shop}:registry';
    expect(taken).toEqual(['+eval', '+hset', '+info', pattern, pattern, pattern, 'on']);
  });
});
