/**
 * The URL and the options of the etcd support. Error messages repeat no invalid value.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { nowOf } from '../../lib/rows/store-clock.js';
import { optionsOfUrl, settingsOf } from '../../lib/stores/etcd/etcd-options.js';
import { clockOfMembers } from '../../lib/stores/etcd/etcd-store.js';
import { supportFromUrl } from '../../lib/stores/etcd/etcd.support.js';
import { etcdSupport } from '../../lib/stores/etcd/index.js';
import { fateOf, RestoreDetector, runIn, runText } from '../../lib/stores/etcd/restore-detector.js';

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
  ])('%s sets members and options', (url, endpoints, rest) => {
    const settings = settingsOf(optionsOfUrl(url));
    expect(settings.endpoints.map(String)).toEqual(endpoints);
    expect(settings).toMatchObject(rest);
  });

  it('uses defaults for the rest, and names the location of its registry', () => {
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

  it('is refused if a file cannot be read; names the parameter, not the path', () => {
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
    [{ ...good, username: 'a' }, '`username` and `password` together'],
    [{ ...good, username: 'a', password: '' }, 'Expected `password`'],
    [{ ...good, tls: { rejectUnauthorized: false } }, '`tls` takes ca, cert, key and servername'],
    [{ ...good, tls: { ca: '' } }, 'Expected `tls.ca`'],
    [{ ...good, tls: { cert: 'x' } }, '`tls.cert` and `tls.key` together'],
    [{ endpoints: ['http://a'], tls: { ca: 'x' } }, '`tls` is given'],
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

/*
 * The changes of an etcd run that count as a loss and those that do not, and the clock of its
 * members.
 */
const RUN = { clusterId: '7', gap: 5, term: 3, random: 'r' };
const NOW = { clusterId: '7', term: 3, revision: 100 };

describe('a run', () => {
  it('can be written and read back', () => {
    for (const run of [RUN, { ...RUN, gap: -40 }, { clusterId: '7', term: 0, random: 'r' }]) {
      expect(runIn(runText(run))).toEqual(run);
    }
    for (const text of ['', 'x', '7.5.3', '7.5.3.', '7.five.3.r'])
      expect(runIn(text)).toBeUndefined();
  });

  it.each([
    ['nothing happened', NOW, 5, 'same'],
    ['the log grew', NOW, 500, 'same'],
    ['a member has no term yet', { ...NOW, term: 0 }, 5, 'same'],
    ['the client lacks the right', NOW, undefined, 'same'],
    ['the leader changed', { ...NOW, term: 4 }, 5, 'elected'],
    [
      'the leader changed, and the client lacks the right',
      { ...NOW, term: 4 },
      undefined,
      'elected',
    ],
    ['the log is shorter', NOW, 4, 'lost'],
    ['the log is shorter, under another leader', { ...NOW, term: 4 }, 4, 'lost'],
    ['the term is lower', { ...NOW, term: 2 }, undefined, 'lost'],
    ['the cluster changed', { ...NOW, clusterId: '8' }, 5, 'lost'],
  ])('%s', (_what, now, gap, fate) => {
    expect(fateOf(RUN, now, gap)).toBe(fate);
  });
});

describe('a witness', () => {
  const server = runText(RUN);
  const header = { ...NOW, memberId: 'm' };
  const status = { index: 110, revision: 100 };
  const socket = {};

  /** A client that has checked the run over a connection. */
  function examined() {
    const witness = new RestoreDetector();
    const sight = { socket, header, mark: witness.mark(), server };
    expect(witness.isBelieved(sight)).toBe(false);
    expect(witness.examine(sight, status)).toBe('same');
    const next = { ...sight, mark: witness.mark() };
    expect(witness.isBelieved(next)).toBe(true);
    return { witness, sight: next };
  }

  it.each([
    ['another connection', { socket: {} }],
    ['another member', { header: { ...header, memberId: 'n' } }],
    ['another term', { header: { ...header, term: 4 } }],
    ['another run', { server: runText({ ...RUN, random: 's' }) }],
    ['an older revision', { header: { ...header, revision: 99 } }],
  ])('does not trust %s without a read', (_what, other) => {
    const { witness, sight } = examined();
    expect(witness.isBelieved({ ...sight, ...other })).toBe(false);
  });

  it('counts an older revision, or a shorter log than it saw, as a loss', () => {
    const { witness, sight } = examined();
    const older = { ...header, revision: 99 };
    expect(witness.examine({ ...sight, header: older }, status)).toBe('lost');
    // Even if an election explains the rest.
    expect(witness.examine({ ...sight, header: { ...older, term: 4 } }, status)).toBe('lost');
    // More than the run shows, and less than earlier answers showed.
    expect(witness.examine(sight, { index: 109, revision: 100 })).toBe('lost');
  });

  it('counts no response as a loss if the request preceded what it saw', () => {
    const { witness, sight } = examined();
    const early = sight.mark;
    expect(witness.isBelieved({ ...sight, header: { ...header, revision: 120 } })).toBe(true);
    expect(witness.isBelieved({ ...sight, mark: early })).toBe(true);
  });

  it('trusts a run that another process has named since', () => {
    const { witness, sight } = examined();
    const named = runText({ clusterId: '7', gap: -90, term: 2, random: 's' });
    const restored = { ...header, revision: 95, term: 2 };
    const other = { ...sight, socket: {}, server: named, header: restored };
    expect(witness.examine(other, { index: 6, revision: 95 })).toBe('same');
    // Earlier answers of the previous run prove nothing about this one.
    const next = { ...other, mark: witness.mark(), header: { ...restored, revision: 96 } };
    expect(witness.isBelieved(next)).toBe(true);
  });
});

describe('the clock of members', () => {
  const clock = clockOfMembers(1000);
  const START = { lastTimeMs: 1_800_000_000_000, slewMs: 0 };
  const told = (steps: readonly number[]) => {
    let [state, timeMs] = [START, START.lastTimeMs];
    return steps.map((stepMs) => {
      timeMs += stepMs;
      state = clock(state, timeMs);
      return nowOf(state) - START.lastTimeMs;
    });
  };

  it('never goes back', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -90_000, max: 90_000 })), (steps) => {
        const times = told(steps);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }),
    );
  });

  it('does not advance because members differ', () => {
    const steps = Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? 2000 : -1000));
    expect(told(steps).at(-1)).toBe(51_000);
  });

  it('returns to the time after a clock was set back', () => {
    expect(told([-3_600_000, 3_600_000, 3_600_000]).at(-1)).toBeLessThanOrEqual(3_600_000);
    expect(told([-3_600_000, 60_000])[1]).toBeGreaterThan(0);
  });
});
