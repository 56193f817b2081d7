/**
 * Which host names carry a worker id: those of a StatefulSet, and none that ends in a number by
 * chance.
 */
import { describe, expect, it } from '@jest/globals';
import { ordinalSupport, type LeaseRequest } from 'nestjs-snowflake';

const REQUEST = { workerIdMin: 0, workerIdMax: 1023 } as LeaseRequest;
const ask = (hostname: string) => ordinalSupport({ hostname }).getNextWorkId(REQUEST);

describe('the number of a pod', () => {
  it.each([
    ['shop-0', 0],
    ['shop-3', 3],
    ['my-web-shop-1023', 1023],
  ])('is read from %s', async (hostname, workerId) => {
    const support = ordinalSupport({ hostname });
    expect(support.workerId).toBe(workerId);
    expect(await ask(hostname)).toMatchObject({ status: 'ok', workerId, ceilingMs: Infinity });
    expect(await support.workers!()).toMatchObject([{ workerId }]);
  });

  it.each([
    ['shop-7d9f8b6c5d-24567', /Deployment/],
    ['shop-7d9f8b6c5d-x2x47', /Deployment/],
    ['shop-c6b8d9f75-45678', /Deployment/],
    ['agent-24567', /DaemonSet/],
    ['ip-10-0-3-12', /address/],
    ['shop', /does not end/],
    ['shop3', /does not end/],
    ['shop-03', /does not end/],
    ['shop-', /does not end/],
    ['shop--1x', /does not end/],
    ['8f14e45fceea', /does not end/],
    ['backup-20261122', /does not end/],
    ['', /does not end/],
  ])('is not read from %s', async (hostname, reason) => {
    expect(ordinalSupport({ hostname }).workerId).toBeUndefined();
    await expect(ask(hostname)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      retryable: false,
      message: expect.stringMatching(reason) as unknown,
    });
  });

  it.each([
    ['JOB_COMPLETION_INDEX', '3', /second pod of the number/],
    ['NODE_APP_INSTANCE', '1', /PM2 runs several processes/],
  ])('is not read where %s is %s', async (variable, value, reason) => {
    process.env[variable] = value;
    try {
      expect(ordinalSupport({ hostname: 'shop-3' }).workerId).toBeUndefined();
      await expect(ask('shop-3')).rejects.toThrow(reason);
    } finally {
      delete process.env[variable];
    }
  });

  it('is read in the first process of PM2, which may be the only one', () => {
    process.env['NODE_APP_INSTANCE'] = '0';
    try {
      expect(ordinalSupport({ hostname: 'shop-3' }).workerId).toBe(3);
    } finally {
      delete process.env['NODE_APP_INSTANCE'];
    }
  });

  it('must fit the layout', async () => {
    await expect(ask('shop-1024')).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  });

  it.each([20, 200])('never is the end of a random name (%s of each kind)', async (count) => {
    const alphabet = 'bcdfghjklmnpqrstvwxz2456789';
    const random = (length: number) =>
      Array.from({ length }, () => alphabet[Math.floor(Math.random() * 27)]!).join('');
    const names = Array.from({ length: count }, () => [
      `shop-${random(8)}-${random(5)}`,
      `shop-${random(10)}-${random(5)}`,
      `shop-${random(5)}`,
    ]).flat();
    const read = names.filter((hostname) => ordinalSupport({ hostname }).workerId !== undefined);
    expect(read).toEqual([]);
  });
});
