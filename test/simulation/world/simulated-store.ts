/**
 * The store of a simulation with the reference registry, in which each operation is one step.
 * Every operation is recorded for whoever wants to replay it.
 */
import { MemoryRegistry } from '../../../lib/stores/memory/index.js';
import { nowOf } from '../../../lib/rows/store-clock.js';
import type { StoreReading } from '../../../lib/registry/snapshot.js';
import type { LeaseAnswer } from '../../../lib/lease/distributed-support.js';
import { SimulatedServers, type Server } from './simulated-servers.js';
import type { StoreCall } from './store-event.js';

export class SimulatedStore extends SimulatedServers<MemoryRegistry> {
  private textCount = 0;

  execute(call: StoreCall): LeaseAnswer | undefined {
    const server = this.random.pick(this.servers);
    const { id, registry, name, aheadMs } = server;
    server.hasAnswered = true;
    const reading: StoreReading = {
      timeMs: this.time.now() + aheadMs,
      server: name,
      random: `incarnation ${++this.textCount}`,
      lossWindowMs: this.window.failoverWindowMs + this.window.clockDifferenceMs,
    };
    const answer = run(registry, call, reading);
    this.callCount++;
    this.leftServers.answered(name, { call, answer, header: registry.state! });
    this.told(nowOf(registry.state!));
    const { wholeCountMax } = this.window;
    this.record({ kind: 'call', registry: id, call, wholeCountMax, reading, answer });
    return answer;
  }

  create(ttlMs: number): void {
    const [server] = this.servers as [Server<MemoryRegistry>];
    if (server.registry.state !== undefined) return;
    const proof = { token: 'operator', nonce: 'operator', nonceNext: 'operator' };
    const mark = { incarnation: '', server: '', operations: 0 };
    const terms = { fingerprint: '', ttlMs, quarantineMs: 0, minRangeMs: 0 };
    const lease = { ...terms, ...proof, workerId: 0, haveMs: 0, mark };
    this.execute({ op: 'release', lease, lastIssuedMs: undefined });
  }

  protected operationsOf({ state }: MemoryRegistry): number {
    return state?.operations ?? 0;
  }

  protected newRegistry(): MemoryRegistry {
    return new MemoryRegistry(this.window.wholeCountMax);
  }
}

function run(registry: MemoryRegistry, call: StoreCall, reading: StoreReading) {
  switch (call.op) {
    case 'acquire':
      return registry.acquire(call.request, reading);
    case 'renew':
      return registry.renew(call.lease, reading);
    case 'release':
      registry.release(call.lease, call.lastIssuedMs, reading);
      return undefined;
  }
}
