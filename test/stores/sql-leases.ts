/** A lease from a support in a database, after as long as a new registry takes. */
import { expect } from '@jest/globals';
import type { IDistributedSupport, LeaseGrant } from '../../lib/lease/distributed-support.js';
import { request } from './redis-lab.js';

export async function leased(
  support: IDistributedSupport,
  terms: Parameters<typeof request>[0] = {},
): Promise<LeaseGrant> {
  for (;;) {
    const answer = await support.getNextWorkId(request(terms));
    if (answer.status === 'ok') return answer;
    expect(answer).toMatchObject({ status: 'wait' });
  }
}
