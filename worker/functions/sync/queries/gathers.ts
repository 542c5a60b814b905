/**
 * Runs queries in one snapshot, for sessions whose queries otherwise have no common version. Sessions that watch the
 * same queries miss at the same time, so equal requests share a run under way if its snapshot is new enough for them.
 *
 * One thread reads a snapshot, one query after another. Answers that are still open are therefore not run again, so
 * that a slow query without writes does not delay the others. If such an answer is closed before the snapshot of the
 * others was opened, all queries are run.
 */
import type {Answer} from './answer.ts';
import {ALL, type HeldQuery, type Slot} from './held-query.ts';
import {commonMoment} from './moments.ts';

export type GatherWanted = {query: HeldQuery; slot: Slot};
/** Answers that are all valid at one version. */
export type Gathered = ReadonlyMap<HeldQuery, Answer>;

export type GatherParts = {
  /** The newest version. */
  sequence: () => number;
  /** @returns null: the batch failed */
  run: (wanted: readonly GatherWanted[]) => Promise<Gathered | null>;
};

/** `from`: its snapshot is of this version or a later one. */
type UnderWay = {from: number; wanted: readonly GatherWanted[]; gathered: Promise<Gathered | null>};

export class Gathers {
  readonly #parts: GatherParts;
  readonly #underWay = new Map<string, UnderWay>();

  constructor(parts: GatherParts) {
    this.#parts = parts;
  }

  /** @param notBefore older versions are of no use */
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

/** Equal for equal requests. All queries of a request have the same identity, which can be long. */
function keyOf(wanted: readonly GatherWanted[]): string {
  const own = wanted.find(({slot}) => slot.key !== ALL.key);
  return `${wanted.map(({query, slot}) => (slot.key === ALL.key ? query.n : -query.n)).join()} ${own?.slot.key ?? ''}`;
}

/** Whether a shared batch also holds for this request: not if a run used another caller's identity. */
function isFor(gathered: Gathered, wanted: readonly GatherWanted[], ran: readonly GatherWanted[]): boolean {
  return wanted.every(({query, slot}, i) => {
    const {identityUsed} = gathered.get(query)!;
    return !identityUsed || slot.identity === ran[i]!.slot.identity;
  });
}
