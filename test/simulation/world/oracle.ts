/**
 * The oracle sees every ID and every range, and reports violations.
 *
 * The rules: no duplicate ID, no ID outside the held ranges, and strictly increasing IDs in each
 * thread. Two leases may not have overlapping ranges of one worker ID, which shows long before two
 * IDs are equal. Twins, the copies of one process, may conflict with each other only.
 */
import type { BitLayout } from '../../../lib/core/layout/bit-layout.js';
import type { WindowRange } from '../../../lib/core/window/lease-window.js';

export type ViolationKind =
  /** A duplicate ID. */
  | 'duplicate'
  /** Two leases had overlapping ranges of one worker ID. */
  | 'overlap'
  /** An ID was generated outside every range of its process. */
  | 'outside'
  /** A thread generated an ID below its last one. */
  | 'order'
  /** An ID has a time that only the store's clock has shown. */
  | 'date'
  /** Copies of a process shared one lease for longer than two renewals. */
  | 'twins'
  /** The faults were over, and IDs did not resume. */
  | 'liveness'
  /** A process reported `active` while its renewals failed. */
  | 'state'
  /** The library detected an internal error. */
  | 'invariant'
  /** The library threw an untyped error. */
  | 'error';

export interface Violation {
  readonly kind: ViolationKind;
  readonly text: string;
}

/** A process with a range. */
interface Maker {
  readonly name: string;
  /** Equal for the copies of one range in cloned processes. */
  readonly family: number | undefined;
  /** The count of data losses by then. */
  readonly lossCount?: number;
  /** See LeftServers. */
  readonly isExcused?: boolean;
}

/** One range of one process. */
export interface Claim extends Maker {
  readonly layout: BitLayout;
  readonly range: WindowRange;
  lastTick: number;
  /** Released up to here, exclusive. */
  cutTick: number;
  /** The IDs generated in it since the last loss of data; one set for all ranges. */
  maker: Maker;
}

/** The oracle's data about a thread of a process. */
export interface Witness {
  /** The name of the process: threads of one process are no twins. */
  readonly name: string;
  readonly layout: BitLayout;
  /** The claims of the process. */
  readonly claims: Claim[];
  lastId: number;
  /** The claim that contains the last ID. */
  lastClaim: number;
}

type WitnessOfProcess = Pick<Witness, 'name' | 'claims' | 'layout'>;

const VIOLATIONS_SHOWN_MAX = 20;

export class Oracle {
  readonly violations: Violation[] = [];
  idCount = 0;
  /** Calls that got a typed error instead of an ID. */
  refusedCount = 0;
  twinIdCount = 0;
  violationCount = 0;
  /** The count of duplicate IDs, tolerated or not. */
  twiceCount = 0;
  /** Those of them with both IDs after the last loss of data. Earlier IDs are history. */
  liveTwiceCount = 0;
  /** Those of them granted by a server without the data: see LeftServers. */
  unheardTwiceCount = 0;
  private lossCount = 0;
  /** By block, which is a tick and a worker ID, and by sequence. */
  private readonly issued = new Map<number, (Maker | undefined)[]>();
  private readonly claims: Claim[] = [];
  private readonly baseBlock: number;
  private readonly blockSize: number;
  private readonly workerCount: number;
  /** The end of valid ID times. A scenario that checks dates moves it. */
  latestTick: () => number = () => Infinity;
  /** Whether the process could not detect that this worker ID and tick belong to another one. */
  isExcused = (_name: string, _workerId: number, _tick: number): boolean => false;
  /** Whether it was granted any of these ticks in that way, end excluded. */
  wasExcused = (_name: string, _workerId: number, _ticks: [number, number]): boolean => false;

  private readonly sequenceBits: number;

  /**
   * @param layouts of the processes; the first one determines the blocks
   * @param baseTick the origin of blocks: lookups of small numbers are faster
   */
  constructor(
    layouts: readonly [BitLayout, ...BitLayout[]],
    baseTick: number,
    private readonly tolerated: readonly ViolationKind[] = [],
  ) {
    const [layout] = layouts;
    this.sequenceBits = Math.min(...layouts.map(({ sequence }) => sequence.bits));
    this.blockSize = 2 ** layout.sequence.bits;
    this.workerCount = 2 ** (layout.timestamp.shift - layout.sequence.bits);
    this.baseBlock = baseTick * this.workerCount;
  }

  get leaseCount(): number {
    return this.claims.length;
  }

  rangeHeld(witness: WitnessOfProcess, range: WindowRange, family = this.claims.length): void {
    const { name, layout } = witness;
    const maker = { name, family, lossCount: this.lossCount, isExcused: false };
    const claim = { name, layout, range, family, lastTick: -Infinity, cutTick: Infinity, maker };
    this.claims.push(claim);
    witness.claims.push(claim);
  }

  /** The process releases this worker ID, with all its IDs generated. */
  givenBack(witness: WitnessOfProcess, workerId: number, lastTick: number): void {
    for (const claim of witness.claims) {
      if (claim.range.workerId === workerId && claim.cutTick === Infinity) {
        claim.cutTick = Math.max(lastTick + 1, claim.range.floorTick);
      }
    }
  }

  /** @param id as a number, which is exact: the layouts of a simulation have at most 47 bits */
  idMade(witness: Witness, id: number): void {
    this.idCount++;
    const block = Math.floor(id / this.blockSize);
    const { timestamp, sequence } = witness.layout;
    const tick = Math.floor(id / 2 ** timestamp.shift);
    const workerId = Math.floor((id - tick * 2 ** timestamp.shift) / 2 ** sequence.bits);
    const found = claimAt(witness.claims, workerId, tick);
    const claim = witness.claims[found];
    if (claim === undefined) {
      this.violated('outside', `${witness.name} made ${id}: worker ${workerId}, tick ${tick}`);
    }
    if (tick > this.latestTick()) {
      this.violated('date', `${witness.name} made ${id} of tick ${tick}`);
    }
    const at = claim === undefined ? witness.lastClaim : found;
    if (id <= witness.lastId && !mayGoBack(witness, at)) {
      this.violated('order', `${witness.name} made ${id} after a greater id`);
    }
    witness.lastId = id;
    witness.lastClaim = at;
    if (claim && tick > claim.lastTick) claim.lastTick = tick;
    const isExcused = this.isExcused(witness.name, workerId, tick);
    this.noteMaker(id, block, this.makerOf(witness, claim, isExcused));
  }

  private makerOf({ name }: Witness, claim: Claim | undefined, isExcused: boolean): Maker {
    const { lossCount } = this;
    const last = claim?.maker;
    if (last?.lossCount === lossCount && last.isExcused === isExcused) return last;
    const maker = { name, family: claim?.family, lossCount, isExcused };
    if (claim) claim.maker = maker;
    return maker;
  }

  private noteMaker(id: number, block: number, maker: Maker): void {
    const location = block - this.baseBlock;
    let makers = this.issued.get(location);
    if (makers === undefined) this.issued.set(location, (makers = []));
    const sequence = id - block * this.blockSize;
    const other = makers[sequence];
    if (other === undefined) makers[sequence] = maker;
    else if (areTwins(maker, other)) this.twinIdCount++;
    else this.madeTwice(id, other, maker);
  }

  /** The store lost its data. Earlier IDs are history that no rule can know. */
  dataLost(): void {
    this.lossCount++;
  }

  private madeTwice(id: number, first: Maker, second: Maker): void {
    this.twiceCount++;
    if (first.isExcused || second.isExcused) return void this.unheardTwiceCount++;
    if (first.lossCount === this.lossCount) this.liveTwiceCount++;
    this.violated('duplicate', `${id} by ${first.name} and by ${second.name}`);
  }

  violated(kind: ViolationKind, text: string): void {
    if (this.tolerated.includes(kind)) return;
    this.violationCount++;
    if (this.violations.length < VIOLATIONS_SHOWN_MAX) this.violations.push({ kind, text });
  }

  /** Checks the overlaps at the end, when every ceiling is final. */
  checkRanges(): void {
    const claims = this.claims
      .filter((claim) => endOf(claim) > claim.range.floorTick)
      .toSorted((a, b) => a.range.floorTick - b.range.floorTick);
    const furthest = new Map<string, Claim>();
    for (const claim of claims) {
      for (const bits of this.bitsOf(claim)) {
        const before = furthest.get(bits);
        if (before && claim.range.floorTick < endOf(before) && !this.mayOverlap(before, claim)) {
          this.violated('overlap', `${textOf(before)} and ${textOf(claim)}`);
        }
        if (before === undefined || endOf(claim) > endOf(before)) furthest.set(bits, claim);
      }
    }
  }

  /** The bits of a worker ID, in the units of the layout with the most bits. */
  private bitsOf({ layout, range }: Claim): string[] {
    const count = 2 ** (layout.sequence.bits - this.sequenceBits);
    const first = range.workerId * count;
    return Array.from({ length: count }, (_, at) => `${layout.epochMs} ${first + at}`);
  }

  private mayOverlap(before: Claim, claim: Claim): boolean {
    const { workerId, floorTick } = claim.range;
    const ticks: [number, number] = [floorTick, Math.min(endOf(before), endOf(claim))];
    const wasExcused = ({ name }: Claim) => this.wasExcused(name, workerId, ticks);
    return areTwins(claim, before) || wasExcused(claim) || wasExcused(before);
  }
}

/** The end, exclusive. Used ticks count even if the release names fewer. */
function endOf({ lastTick, cutTick, range }: Claim): number {
  return Math.max(lastTick + 1, Math.min(cutTick, range.ceilingTick));
}

/** The index of the last claim with this ID; -1 without one. */
function claimAt(claims: readonly Claim[], workerId: number, tick: number): number {
  for (let at = claims.length - 1; at >= 0; at--) {
    const { range } = claims[at]!;
    if (range.workerId === workerId && tick >= range.floorTick && tick < range.ceilingTick)
      return at;
  }
  return -1;
}

/** Whether the thread entered a range after its last ID that may begin below that ID. */
function mayGoBack({ claims, lastClaim }: Witness, at: number): boolean {
  return claims.slice(lastClaim + 1, at + 1).some(({ range }) => range.rewinds);
}

function areTwins(a: Maker, b: Maker): boolean {
  return a.family !== undefined && a.family === b.family && a.name !== b.name;
}

function textOf(claim: Claim): string {
  const { workerId, floorTick } = claim.range;
  return `worker ${workerId} [${floorTick}, ${endOf(claim)}) of ${claim.name}`;
}
