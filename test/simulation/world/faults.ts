/**
 * What befalls a simulated fleet, as a table: each fault by its name, and what it does.
 *
 * Guarantee: no fault here goes beyond what the library promises to survive.
 */
import type { Fleet } from './fleet.js';
import type { FaultName } from './scenarios.js';
import type { Environment } from './environment.js';

type Fault = (fleet: Fleet, around: Environment) => void;

const HOUR_MS = 3_600_000;

export const FAULTS: Readonly<Record<FaultName, Fault>> = {
  crash: (fleet) => fleet.crash(fleet.any()),
  pause: (fleet, { plan, random }) =>
    fleet.pause(fleet.any(), random.between(0, 3 * plan.lease.ttlMs)),
  release: (fleet) => fleet.restart(fleet.any()),
  'rolling restart': (fleet) => fleet.restartAll(),
  burst: (fleet, { plan, random }) =>
    fleet.any()?.mint((plan.layout.sequence.max + 1) * random.between(10, 300)),
  'host clock jumps': (fleet, { plan, random }) => {
    const byMs = random.pick([100, plan.lease.ttlMs, HOUR_MS]);
    fleet.anyHost().aheadMs = random.between(-byMs, byMs);
  },
  'host clock set back': (fleet, { plan, random }) => {
    fleet.anyHost().aheadMs -= random.between(0, plan.lease.ttlMs / 3);
  },
  'store clock jumps': (_, { plan, random, store }) => {
    const byMs = random.pick([100, plan.lease.ttlMs, HOUR_MS]);
    store.jumpBy(random.between(-byMs, byMs));
  },
  'store clock set back': (_, { plan, random, store }) => {
    store.jumpBy(-random.pick([plan.lease.ttlMs / 2, plan.lease.ttlMs, 5 * plan.lease.ttlMs]));
  },
  'store clock wrong for a while': (_, { random, store, time }) => {
    const byMs = random.pick([HOUR_MS, 24 * HOUR_MS, 365 * 24 * HOUR_MS]);
    if (store.isClockWrong || !store.jumpBy(byMs)) return;
    store.isClockWrong = true;
    time.after(random.between(1, 3000), () => {
      store.jumpBy(-byMs);
      store.isClockWrong = false;
    });
  },
  'store away': (_, { plan, random, store, time }) => {
    store.isAway = true;
    time.after(random.between(0, 2 * plan.lease.ttlMs), () => (store.isAway = false));
  },
  'process cut off': (fleet, { plan, random, time }) => {
    const cut = fleet.any();
    if (cut === undefined) return;
    cut.wire.isCut = true;
    time.after(random.between(0, 3 * plan.lease.ttlMs), () => (cut.wire.isCut = false));
  },
  'registry wiped': (_, around) => wipe(around),
  'store restarted': (_, { store }) => store.restart(),
  'store restored': (_, { store }) => store.restore(),
  'split brain': (_, { store }) => store.split(),
  'led elsewhere': (_, { store }) => store.leadElsewhere(),
  'registry created': (_, { plan, store }) => store.create(plan.lease.ttlMs),
  'registry wiped and created': (_, around) => {
    wipe(around);
    around.store.create(around.plan.lease.ttlMs);
  },
  'registry wiped, layout changed': (fleet, around) => {
    wipe(around);
    fleet.changeLayout();
  },
  'row deleted': (_, { store }) => store.loseRow(),
  clone: (fleet) => fleet.clone(fleet.any()),
};

function wipe({ store, oracle }: Environment): void {
  store.wipe();
  oracle.dataLost();
}
