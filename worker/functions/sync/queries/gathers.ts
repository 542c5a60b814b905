/**
 * Queries that are run in one snapshot, for sessions whose queries never meet in one moment by themselves. Many sessions watch the same, and
 * miss each other in the same moments: those who ask for the same while it is run wait for that, if its snapshot is new enough for them.
 *
 * A snapshot is read by one thread, one query after another. So what stands is not run again: a slow query that nobody writes to does not hold
 * up those beside it. Only if it has fallen before the snapshot of the others was opened, all are run.
 */
import type {Answer} from './answer.ts';
import {ALL, type HeldQuery, type Slot} from './held-query.ts';
import {commonMoment} from './moments.ts';

export type GatherWanted = {query: HeldQuery; slot: Slot};
/** All right in one moment. */
export type Gathered = ReadonlyMap<HeldQuery, Answer>;

export type GatherParts = {
  /** The newest moment. */
  sequence: () => number;
  /** @returns null: they could not be had */
  run: (wanted: readonly GatherWanted[]) => Promise<Gathered | null>;
};

/** `from`: its snapshot is of this moment or a later one. */
type UnderWay = {from: number; wanted: readonly GatherWanted[]; gathered: Promise<Gathered | null>};

export class Gathers {
  readonly #parts: GatherParts;
  readonly #underWay = new Map<string, UnderWay>();

  constructor(parts: GatherParts) {
    this.#parts = parts;
  }

  /** @param notBefore an older moment is of no use */
  async together(asked: readonly GatherWanted[], notBefore: number): Promise<Gathered | null> {
    const wanted = [...new Map(asked.map(one => [one.query, one])).values()].sort((a, b) => a.query.n - b.query.n);
    const key = keyOf(wanted);
    let underWay = this.#underWay.get(key);
    if (underWay === undefined || underWay.from < notBefore) {
      underWay = {from: this.#parts.sequence(), wanted, gathered: this.#run(wanted)};
      this.#underWay.set(key, underWay);
    }
    const gathered = await underWay.gathered;
    if (this.#underWay.get(key) === underWay) this.#underWay.delete(key);
    return gathered !== null && isFor(gathered, wanted, underWay.wanted) ? gathered : null;
  }

  async #run(wanted: readonly GatherWanted[]): Promise<Gathered | null> {
    const standing = new Map<HeldQuery, Answer>();
    for (const {query, slot} of wanted) {
      const answer = query.answerFor(slot.identity);
      if (answer?.isOpen === true) standing.set(query, answer);
    }
    if (standing.size === 0) return await this.#parts.run(wanted);
    const fallen = wanted.filter(({query}) => !standing.has(query));
    if (fallen.length === 0) return standing;
    const gathered = await this.#parts.run(fallen);
    if (gathered === null) return null;
    const all = new Map([...standing, ...gathered]);
    const isOneMoment = commonMoment(all.values(), 0, this.#parts.sequence()) !== null;
    return isOneMoment ? all : await this.#parts.run(wanted);
  }
}

/** Equal for those who ask for the same. All of one asker are for the same identity, which may be long. */
function keyOf(wanted: readonly GatherWanted[]): string {
  const own = wanted.find(({slot}) => slot.key !== ALL.key);
  return `${wanted.map(({query, slot}) => (slot.key === ALL.key ? query.n : -query.n)).join()} ${own?.slot.key ?? ''}`;
}

/** Whoever shares it is told what holds for others as well, unless a run looked at who asks. */
function isFor(gathered: Gathered, wanted: readonly GatherWanted[], ran: readonly GatherWanted[]): boolean {
  return wanted.every(({query, slot}, i) => {
    const {identityUsed} = gathered.get(query)!;
    return !identityUsed || slot.identity === ran[i]!.slot.identity;
  });
}
