/**
 * Regions whose numbers are claimed in one registry: who has a number of its own is left alone, and
 * a second region with it is noticed within a minute, whatever is lost or away meanwhile.
 */
import { describe, expect, it } from '@jest/globals';
import { SettableTime } from 'nestjs-snowflake/testing';
import type { SnowflakeError } from '../../lib/errors.js';
import type { IDistributedSupport, LeaseRequest } from '../../lib/lease/distributed-support.js';
import { LEASE_DEFAULTS } from '../../lib/lease/lease-options.js';
import { CLAIM_TTL_MS, RegionClaim } from '../../lib/lease/region-claim.js';
import { MemoryRegistry, MemorySupport } from '../../lib/stores/memory/index.js';
import { systemIdentity } from '../../lib/time/process-identity.js';

const MINUTE_MS = 60_000;

/** A registry of regions, which can be away. */
class Regions {
  readonly time = new SettableTime();
  isAway = false;
  private readonly registry = new MemoryRegistry();

  support(): IDistributedSupport {
    const support = new MemorySupport({ clock: this.time, registry: this.registry });
    const answer = () => {
      if (this.isAway) throw new Error('connection refused');
    };
    return {
      getNextWorkId: async (request: LeaseRequest) => (answer(), support.getNextWorkId(request)),
      refreshAlive: (lease) => support.refreshAlive(lease),
      release: (lease, lastMs) => support.release(lease, lastMs),
      workers: async () => (answer(), support.workers()),
    };
  }

  /** One process of a region whose own registry has this incarnation. */
  process(number: number, registry: { incarnation: string | undefined }, bits = 3) {
    const said: string[] = [];
    const claim = new RegionClaim({
      number,
      bits,
      support: this.support(),
      lease: LEASE_DEFAULTS,
      identity: systemIdentity('shop'),
      timers: this.time,
      random: () => 0.5,
      incarnation: () => registry.incarnation,
      report: (level, text) => void said.push(`${level} ${text}`),
    });
    const errors = () => said.filter((line) => line.startsWith('error'));
    return { claim, said, errors };
  }

  /** Starts one, with as much time as that takes. */
  async started(number: number, registry: { incarnation: string | undefined }, bits?: number) {
    const process = this.process(number, registry, bits);
    let failed: unknown;
    const starting = process.claim.start().catch((error: unknown) => (failed = error));
    let isOver = false;
    void starting.then(() => (isOver = true));
    for (let waitedMs = 0; !isOver && waitedMs < MINUTE_MS; waitedMs += 1000) {
      await this.time.advance(1000);
    }
    await starting;
    if (failed === undefined) process.claim.watch();
    return { ...process, failed };
  }
}

describe('the number of a region', () => {
  it('is claimed by all processes of one region, and stays with them', async () => {
    const regions = new Regions();
    const eu = { incarnation: 'eu' };
    const pods = [await regions.started(3, eu), await regions.started(3, eu)];
    const us = await regions.started(4, { incarnation: 'us' });
    await regions.time.advance(10 * MINUTE_MS);
    expect([...pods, us].map(({ claim }) => claim.status.state)).toEqual(Array(3).fill('claimed'));
    expect([...pods, us].flatMap(({ errors }) => errors())).toEqual([]);
    // It is a registry like any other, which the operator reads.
    const records = await regions.support().workers!();
    expect(records.filter(({ freeInMs }) => freeInMs > 0).map((each) => each.workerId)).toEqual([
      3, 4,
    ]);
  });

  it('is not given to a second region at its start, which says who has it', async () => {
    const regions = new Regions();
    await regions.started(3, { incarnation: 'eu' });
    const { failed } = await regions.started(3, { incarnation: 'us' });
    expect((failed as SnowflakeError).code).toBe('REGION_TAKEN');
    expect(String(failed)).toContain('of registry eu');
  });

  it('is missed within a minute by a region that runs with that of another', async () => {
    const regions = new Regions();
    regions.isAway = true;
    const [eu, us] = [
      await regions.started(3, { incarnation: 'eu' }),
      await regions.started(3, { incarnation: 'us' }),
    ];
    await regions.time.advance(MINUTE_MS);
    expect([eu, us].map(({ claim }) => claim.status.state)).toEqual(['unchecked', 'unchecked']);
    regions.isAway = false;
    await regions.time.advance(MINUTE_MS);
    const states = [eu, us].map(({ claim }) => claim.status.state);
    expect(states.toSorted()).toEqual(['claimed', 'conflict']);
    expect([...eu.errors(), ...us.errors()]).toHaveLength(1);
    expect([...eu.errors(), ...us.errors()][0]).toContain('Two regions have one number');
    // Whoever is wrong is stopped; what it had claimed lapses.
    const right = states[0] === 'claimed' ? us : eu;
    await (right === us ? eu : us).claim.stop();
    await regions.time.advance(MINUTE_MS);
    expect(right.claim.status.state).toBe('claimed');
  });

  it('stays with a region whose own registry lost its data, without a conflict', async () => {
    const regions = new Regions();
    const eu = { incarnation: 'before' };
    const pods = [await regions.started(3, eu), await regions.started(3, eu)];
    eu.incarnation = 'after';
    const late = await regions.started(3, eu);
    await regions.time.advance(MINUTE_MS);
    for (const { claim, errors } of [...pods, late]) {
      expect([claim.status.state, errors()]).toEqual(['claimed', []]);
    }
  });

  it('is unchecked without a registry of regions, in which nobody waits at a start', async () => {
    const regions = new Regions();
    regions.isAway = true;
    const { claim, failed, said } = await regions.started(3, { incarnation: 'eu' });
    expect([failed, claim.status.state]).toEqual([undefined, 'unchecked']);
    expect(said.filter((line) => line.startsWith('warn'))).toHaveLength(1);
    regions.isAway = false;
    await regions.time.advance(MINUTE_MS);
    expect([claim.status.state, claim.status.message]).toEqual(['claimed', undefined]);
  });

  it('has as many bits as those of all others', async () => {
    const regions = new Regions();
    await regions.started(3, { incarnation: 'eu' });
    const { failed } = await regions.started(1, { incarnation: 'us' }, 2);
    expect((failed as SnowflakeError).code).toBe('LAYOUT_MISMATCH');
  });

  it('is free for another region one ttl after its last process ended', async () => {
    const regions = new Regions();
    const { claim } = await regions.started(3, { incarnation: 'eu' });
    await claim.stop();
    await regions.time.advance(CLAIM_TTL_MS + 1);
    const { failed } = await regions.started(3, { incarnation: 'us' });
    expect(failed).toBeUndefined();
  });
});
