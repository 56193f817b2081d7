import { describe, expect, it } from '@jest/globals';
import { SettableTime } from '../../lib/testing/settable-time.js';
import { FewAtOnce, OneAtATime } from '../../lib/time/line.js';

/** Calls that end on the test's command. */
function calls() {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const fails = new Map<string, () => void>();
  const call = (name: string) => () =>
    new Promise<string>((resolve, reject) => {
      begun.push(name);
      ends.set(name, () => resolve(name));
      fails.set(name, () => reject(new Error(name)));
    });
  return {
    begun,
    call,
    end: (name: string) => ends.get(name)!(),
    fail: (name: string) => fails.get(name)!(),
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('a line with one call per key', () => {
  it('starts the calls of a key in order, and calls of other keys at once', async () => {
    const { begun, call, end } = calls();
    const line = new OneAtATime<string>();
    const answers = ['a', 'b', 'c'].map((name) => line.run('key', call(name)));
    void line.run('other', call('d'));
    await settled();
    expect(begun).toEqual(['a', 'd']);
    end('a');
    await settled();
    expect(begun).toEqual(['a', 'd', 'b']);
    end('b');
    await settled();
    end('c');
    await expect(Promise.all(answers)).resolves.toEqual(['a', 'b', 'c']);
  });

  it('reports the error of a call only to its caller', async () => {
    const { call, end, fail } = calls();
    const line = new OneAtATime<string>();
    const [first, second] = [line.run('key', call('a')), line.run('key', call('b'))];
    await settled();
    fail('a');
    await expect(first).rejects.toThrow('a');
    await settled();
    end('b');
    await expect(second).resolves.toBe('b');
  });

  it('starts the next call after a time limit, and still returns the late result', async () => {
    const time = new SettableTime();
    const { begun, call, end } = calls();
    const line = new OneAtATime<string>({ ms: 5000, timers: time });
    const first = line.run('key', call('a'));
    void line.run('key', call('b'));
    await settled();
    await time.advance(4999);
    expect(begun).toEqual(['a']);
    await time.advance(1);
    expect(begun).toEqual(['a', 'b']);
    end('a');
    await expect(first).resolves.toBe('a');
  });

  it('discards a key when its line is empty', async () => {
    const { call, end } = calls();
    const ends = new Map<string, Promise<unknown>>();
    const line = new OneAtATime<string>(undefined, ends);
    const answer = line.run('key', call('a'));
    await settled();
    expect(ends.size).toBe(1);
    end('a');
    await answer;
    await settled();
    expect(ends.size).toBe(0);
  });
});

describe('a line with a few calls at once', () => {
  it('starts as many calls as allowed, and the next after one ends or fails', async () => {
    const { begun, call, end, fail } = calls();
    const line = new FewAtOnce(2);
    const answers = ['a', 'b', 'c', 'd'].map((name) => line.run(call(name)));
    await settled();
    expect(begun).toEqual(['a', 'b']);
    fail('b');
    await expect(answers[1]).rejects.toThrow('b');
    expect(begun).toEqual(['a', 'b', 'c']);
    end('a');
    await settled();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });

  it('lets one other call start for each call over the time limit', async () => {
    const time = new SettableTime();
    const { begun, call, end } = calls();
    const line = new FewAtOnce(1, { ms: 2000, timers: time });
    for (const name of ['a', 'b', 'c']) void line.run(call(name));
    await settled();
    await time.advance(2000);
    expect(begun).toEqual(['a', 'b']);
    // The late end of the first call frees no second slot.
    end('a');
    await settled();
    expect(begun).toEqual(['a', 'b']);
    end('b');
    await settled();
    expect(begun).toEqual(['a', 'b', 'c']);
  });
});
